"""What becomes of a chat template's source: jinja's compiler, with two changes.

Promises that generated code makes nothing behind the allowance's back, and that the marks
around assistants' words are read over. Imports jinja2: see template_sandbox.
"""

from __future__ import annotations

from collections.abc import Callable

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame, operators
from jinja2.ext import Extension
from jinja2.parser import Parser


class GenerationTags(Extension):
    """`{% generation %}` marks what an assistant said, for training; here it means nothing."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> list[nodes.Node]:
        parser.stream.skip(1)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class BoundedCode(CodeGenerator):
    """Has what jinja compiles to plain Python displays and joins pass through the allowance."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_List(self, node: nodes.List, frame: Frame) -> None:
        self._made(super().visit_List, node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:
        self._made(super().visit_Dict, node, frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:
        if node.ctx == "load":
            self._made(super().visit_Tuple, node, frame)
        else:
            super().visit_Tuple(node, frame)

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:
        if isinstance(node.arg, nodes.Slice):
            self._made(super().visit_Getitem, node, frame)
        else:
            super().visit_Getitem(node, frame)

    def visit_Operand(self, node: nodes.Operand, frame: Frame) -> None:
        """What is compared: the call lets the clock be read between two comparisons.

        With a constant a comparison is as short as that is.
        """
        if isinstance(node.expr, nodes.Const):
            return super().visit_Operand(node, frame)
        self.write(f" {operators[node.op]} environment.printable(")
        self.visit(node.expr, frame)
        self.write(")")

    def _made(self, visit: Callable[..., None], node: nodes.Node, frame: Frame) -> None:
        self.write("environment.allowance.made(")
        visit(node, frame)
        self.write(")")
