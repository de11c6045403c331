"""What travels between the TaskRunner and the ranks: named columns of tensors with one row per answer (B rows).

prompts [B, P] and answers [B, A] (int64 token ids) · mask [B, A] (float, 1 up to and with the first ``.``) ·
old_log_probs and ref_log_probs [B, A] (nats) · rewards [B] (0 to 1) · advantages [B]
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

Batch = dict[str, torch.Tensor]


def split(batch: Batch, parts: int) -> list[Batch]:
    """Cut into ``parts`` runs of rows, as equal as can be; copies, so that a part doesn't carry the whole with it."""
    columns = {name: tensor.tensor_split(parts) for name, tensor in batch.items()}
    return [{name: pieces[part].clone() for name, pieces in columns.items()} for part in range(parts)]


def join(parts: Sequence[Batch]) -> Batch:
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
