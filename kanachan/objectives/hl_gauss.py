"""Points as a distribution over bins (HL-Gauss).

Shapes: B decisions, K bins, E edges between them.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class HLGauss(nn.Module):
    """Bins and the Gaussian-smoothed target over them.

    Bins are equally wide in the compressed coordinate c(x) = sign(x) log(1 + |x| / unit) and cover -reach ... reach;
    points outside count as the edge. The predicted points are the mean of the bins' centres, mapped back. As this map
    is convex away from zero, a perfect prediction of a smoothed target is too far from zero by a share exp(v / 2) - 1
    of |x| + unit, where v = (sigma^2 + 1 / 12) width^2 is the variance of the bin around the target. With 101 bins and
    sigma 0.75, this share is 0.28 % for the round delta (25 points of 8000) and 0.07 % for grading points.

    Farebrother et al. 2024, "Stop Regressing: Training Value Functions via Classification for Scalable Deep RL"
    (arXiv:2403.03950).
    """

    COUNT = 101
    """number of bins; odd, so that one bin is centred at zero"""
    SIGMA = 0.75
    """standard deviation of the Gaussian around the target, in bins"""
    points_K: Tensor
    inner_edge_E: Tensor

    def __init__(self, unit: float, reach: float) -> None:
        super().__init__()
        self.unit, self.reach = unit, reach
        limit = math.log1p(reach / unit)
        centre_K = torch.linspace(-limit, limit, self.COUNT, dtype=torch.float64)
        self.sigma = self.SIGMA * 2 * limit / (self.COUNT - 1)
        points_K = centre_K.sign() * unit * centre_K.abs().expm1()
        self.register_buffer("points_K", points_K.float(), persistent=False)
        self.register_buffer("inner_edge_E", ((centre_K[1:] + centre_K[:-1]) / 2).float(), persistent=False)

    @classmethod
    def of_round_points(cls) -> "HLGauss":
        return cls(unit=1_000.0, reach=100_000.0)

    @classmethod
    def of_grading_points(cls) -> "HLGauss":
        """The reach covers the highest grade, whose points are thousandths."""
        return cls(unit=100.0, reach=1_000.0)

    def smooth(self, points_B: Tensor) -> Tensor:
        """Returns target_BK: the mass of a Gaussian around each target in each bin; the tails belong to edge bins."""
        clamped_B = points_B.clamp(-self.reach, self.reach)
        compressed_B = clamped_B.sign() * (clamped_B.abs() / self.unit).log1p()
        below_BE = torch.special.ndtr((self.inner_edge_E - compressed_B[:, None]) / self.sigma)
        below_BE = F.pad(F.pad(below_BE, (1, 0), value=0.0), (0, 1), value=1.0)
        return below_BE.diff(dim=1)
