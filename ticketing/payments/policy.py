"""The ways in which money moves, in the words of a counter."""

from collections.abc import Mapping
from types import MappingProxyType

METHODS: Mapping[str, str] = MappingProxyType(
    {"cash": "dinheiro", "card": "cartão", "pix": "PIX", "account": "conta do parceiro"})
