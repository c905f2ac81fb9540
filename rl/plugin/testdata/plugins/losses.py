"""A loss in torch, which is refused by name."""

from trinity.algorithm import POLICY_LOSS_FN, PolicyLossFn


@POLICY_LOSS_FN.register_module("my_torch_loss")
class MyLoss(PolicyLossFn):
    def __call__(self, logprob, old_logprob, action_mask, advantages, **kwargs):
        return -(advantages * logprob).mean(), {}
