"""The policy of reinforcement learning: predicts as imitation does, and is trained on games of its own.

How it is trained: `kanachan.reinforcement.policy_gradient`.
"""

from kanachan.objectives.imitation import Imitation


class PolicyObjective(Imitation):
    """Imitation whose probabilities are those of the policy's own actions.

    Its loss is the cross-entropy of actions taken: for evaluations, as it is trained otherwise.
    """

    stage = "policy"
    title = "Policy: the action that the policy takes, against the player's"
    quantity = "action of the policy"
    meaning = "probability that the policy takes it"
    uses = frozenset()
