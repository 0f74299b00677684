"""Which module may import which, and how large a file may grow: by reading the sources, importing nothing."""

import ast

import pytest

from tests.support.imports import MODULES, PROGRAMS, imports_of, imports_of_module, parse, reached_from, top
from tests.support.paths import ROOT

SERVING = [name for name in MODULES if name.startswith(("kanachan.inference.", "kanachan.play.", "kanachan.review."))]
NO_NAMES = {"utils", "util", "common", "helpers", "helper", "constants", "base", "misc"}
REGISTERING = {"kanachan.inference.huggingface"}  # it is imported in order to be found by AutoModel
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 60
LEVELS_OF_KANACHAN = (
    {"config", "extras", "policy_config"},
    {"data"},
    {"models"},
    {"objectives"},
    {"inference"},
    {"evaluation"},
    {"play", "review", "training"},
    {"reinforcement"},
    {"cli"},
    {"__main__"},
)
"""A package imports from lower levels only, except that config has the sections of policy_config, on its own level."""
LEVELS_OF_ANNOTATE = (
    {"blocks", "runtime"},
    {"vocabulary"},
    {"annotation"},
    {"game"},
    {"records", "replay", "words"},
    {"pipeline", "simulation"},
)
WITHIN_A_LEVEL = {("config", "policy_config")}
HEAVY = {"torch", "lightning", "deepspeed", "transformers", "datasets", "pyarrow", "wandb"}
SOURCES = {str(path.relative_to(ROOT)): path.read_text() for path in (*MODULES.values(), *PROGRAMS)}


def test_only_the_engine_imports_riichienv() -> None:
    importers = [name for name in MODULES if "riichienv" in map(top, imports_of_module(name))]
    assert importers and all(name.startswith("annotate.game.engine.") for name in importers), importers


def test_a_vocabulary_is_always_passed_and_has_no_default() -> None:
    named = [m for m in MODULES if "FOUR_PLAYERS" in {n.id for n in ast.walk(parse(m)) if isinstance(n, ast.Name)}]
    assert named == ["annotate.vocabulary"]


def package(module: str) -> str:
    """kanachan.data.batch is in the package data; kanachan.config is a package by itself."""
    return module.split(".")[1]


def arrows(top_package: str) -> dict[tuple[str, str], list[str]]:
    """The imports between packages: by importing and imported package, the modules that import."""
    found: dict[tuple[str, str], list[str]] = {}
    for module in MODULES:
        if top(module) != top_package or module.endswith("__init__"):
            continue
        for name in imports_of_module(module):
            if name in MODULES and top(name) == top_package and package(name) != package(module):
                found.setdefault((package(module), package(name)), []).append(module)
    return found


@pytest.mark.parametrize(
    ("top_package", "levels"),
    [("kanachan", LEVELS_OF_KANACHAN), ("annotate", LEVELS_OF_ANNOTATE)],
    ids=["kanachan", "annotate"],  # the text of a set differs from process to process
)
def test_packages_import_only_from_those_below_them(top_package: str, levels: tuple[set[str], ...]) -> None:
    level_of = {name: level for level, names in enumerate(levels) for name in names}
    found = arrows(top_package)
    wrong = {
        f"{source} -> {target}": modules
        for (source, target), modules in found.items()
        if level_of[source] <= level_of[target] and (source, target) not in WITHIN_A_LEVEL
    }

    assert wrong == {}


def test_every_package_has_its_level() -> None:
    known = {f"kanachan.{name}" for names in LEVELS_OF_KANACHAN for name in names}
    known |= {f"annotate.{name}" for names in LEVELS_OF_ANNOTATE for name in names}
    assert {".".join(name.split(".")[:2]) for name in MODULES if not name.endswith("__init__")} == known


def test_the_product_imports_no_tests_and_no_private_names() -> None:
    for path, source in SOURCES.items():
        tree = ast.parse(source)
        assert "tests" not in {top(name) for name in imports_of(tree)}, path
        found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        ours = [node for node in found if top(node.module or "") in ("annotate", "kanachan", "launch")]
        assert [alias.name for node in ours for alias in node.names if alias.name.startswith("_")] == [], path


def test_there_are_no_import_cycles() -> None:
    imported = {module: {name for name in imports_of_module(module) if name in MODULES} for module in MODULES}
    while ends := {module for module, names in imported.items() if not names}:
        imported = {module: names - ends for module, names in imported.items() if module not in ends}
    assert imported == {}


def test_modules_that_serve_a_model_reach_neither_lightning_nor_deepspeed() -> None:
    assert [m for m in SERVING if {"lightning", "deepspeed"} & {top(name) for name in reached_from(m)}] == []


def test_a_module_is_named_for_its_job() -> None:
    assert [module for module in MODULES if NO_NAMES & set(module.split("."))] == []


def test_init_files_are_empty() -> None:
    version = 'from importlib.metadata import version\n\n__version__ = version("kanachan")\n'
    found = {name: path.read_text() for name, path in MODULES.items() if name.endswith("__init__")}
    assert {name: text for name, text in found.items() if text} == {"kanachan.__init__": version}


def test_a_file_and_its_functions_stay_small() -> None:
    assert [path for path, source in SOURCES.items() if len(source.splitlines()) > MOST_LINES] == []
    long = [
        f"{path}: {node.name}"
        for path, source in SOURCES.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > MOST_LINES_OF_A_FUNCTION
    ]
    assert long == []


def test_importing_only_defines() -> None:
    for module in MODULES.keys() - REGISTERING:
        for node in parse(module).body:
            is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            is_statement = isinstance(node, ast.For | ast.While | ast.With | ast.Try | ast.Delete)
            is_call = isinstance(node, ast.Expr) and not is_docstring
            assert not is_statement and not is_call, f"{module}: {ast.unparse(node)[:80]}"


def test_annotate_reaches_neither_heavy_packages_nor_kanachan() -> None:
    of_annotate, forbidden = [name for name in MODULES if top(name) == "annotate"], {*HEAVY, "kanachan"}
    assert [module for module in of_annotate if forbidden & {top(name) for name in reached_from(module)}] == []


def commands() -> list[str]:
    lines = (ROOT / "pyproject.toml").read_text().split("[project.scripts]")[1].split("\n\n")[0].strip().splitlines()
    return [line.split('"')[1].split(":")[0] for line in lines]


@pytest.mark.parametrize("module", [name for name in commands() if name in MODULES])
def test_a_command_imports_no_heavy_packages_before_its_arguments_are_valid(module: str) -> None:
    reached, waiting = set[str](), [module]
    while waiting:
        tree = parse(waiting.pop())
        top_level = ast.Module([node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)], [])
        for name in imports_of(top_level):
            if name not in reached:
                reached.add(name)
                waiting += [name] if name in MODULES else []
    assert not HEAVY & {top(name) for name in reached}


def test_there_are_commands_and_modules_to_check() -> None:
    assert {"kanachan.cli.annotate", "kanachan.cli.train"} <= set(commands()) & set(MODULES)
    assert ROOT / "launch" / "reports" / "danger.py" in PROGRAMS
