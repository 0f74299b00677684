import gc

import pytest

from annotate.runtime.garbage import no_search_for_cycles


def test_the_search_for_cycles_pauses_and_goes_on_after_an_error() -> None:
    with pytest.raises(ValueError, match="of the caller"), no_search_for_cycles():
        assert not gc.isenabled()
        raise ValueError("of the caller")
    assert gc.isenabled()
