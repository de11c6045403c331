"""A character-level transformer, decoder only, of about 100,000 parameters."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from raydebug.demo.task import ANSWER_LENGTH, PROMPT_LENGTH, STOP_ID, VOCABULARY


class Block(nn.Module):  # type: ignore[misc]
    """Causal self-attention and a feed-forward layer, each after a layer norm. [B, T, width] -> the same."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_attention = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm_feed = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm_attention(x)).unflatten(-1, (3, self.heads, -1)).transpose(1, 3).unbind(2)
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.feed(self.norm_feed(x))


class CharTransformer(nn.Module):  # type: ignore[misc]
    """Token ids [B, T] -> logits [B, T, V] of each next token; T is at most prompt + answer."""

    def __init__(self, width: int = 64, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.token = nn.Embedding(len(VOCABULARY), width)
        self.place = nn.Embedding(PROMPT_LENGTH + ANSWER_LENGTH, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, len(VOCABULARY), bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.token(tokens) + self.place(places))))


def answer_log_probs(model: nn.Module, prompts: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
    """Each answer token's log-probability given all before it. prompts [B, P], answers [B, A] (ids) -> [B, A], nats."""
    logits = model(torch.cat([prompts, answers], dim=1))[:, prompts.shape[1] - 1 : -1]
    return logits.log_softmax(-1).gather(-1, answers.unsqueeze(-1)).squeeze(-1)


def generate(model: nn.Module, prompts: torch.Tensor, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Sample answers at temperature 1. prompts [B, P] (ids) -> answers [B, A] (ids), mask [B, A] (float, 0 or 1).

    The mask covers the tokens up to and with the first ``.``; what was sampled after it counts for nothing. There is no
    cache of keys and values: at ten tokens a sequence it would cost more than it saves.
    """
    tokens = prompts
    with torch.inference_mode():
        for _ in range(ANSWER_LENGTH):
            chances = model(tokens)[:, -1].softmax(-1)
            tokens = torch.cat([tokens, torch.multinomial(chances, 1, generator=generator)], dim=1)
        answers = tokens[:, prompts.shape[1] :]
        stopped_before = (answers == STOP_ID).cumsum(1) - (answers == STOP_ID).long()
    # Tensors made in inference mode can't take part in training; clones made outside it can.
    return answers.clone(), (stopped_before == 0).float()
