"""One HTML page with everything some experiments found: pictures, sentences, data, commands.

Promises a page that needs nothing else: no script, no font, no address. Knows no files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from types import MappingProxyType

from nextok.lab.findings import Findings
from nextok.lab.findings_text import as_object, as_text
from nextok.lab.picture import MARK

_IDS = re.compile(r'(\bid="|url\(#|href="#)')
"""Where an SVG names its parts: several of them in one page must not share names."""

_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Illustrated:
    """Findings with the pictures of their charts."""

    findings: Findings
    svgs: Mapping[str, str]
    """The SVG of each chart, by the chart's name."""
    files: Mapping[str, Sequence[tuple[str, str]]]
    """What lies beside the page, by the chart's name; under an empty name, for all of them: what
    a link to it says, and where it leads."""


def page(
    parts: Sequence[Illustrated], *, version: str, failures: Mapping[str, str] = NOTHING
) -> str:
    """The whole file. failures: what experiments failed with, by their names."""
    models = dict.fromkeys(one.findings.model for one in parts if one.findings.model)
    head = " · ".join(filter(None, [*models, f"nextok {version}"]))
    names = [escape(name) for name in (*(one.findings.experiment for one in parts), *failures)]
    links = "".join(f'<li><a href="#{name}">{name}</a></li>' for name in names)
    return (
        "<!DOCTYPE html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="{MARK}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>nextok lab</title><style>{_STYLE}</style></head>\n<body>\n"
        f"<header><h1>nextok lab</h1><p>{escape(head)}</p><nav><ul>{links}</ul></nav></header>\n"
        f"<main>\n{''.join(map(_section, parts))}{_failed(failures)}</main>\n</body></html>\n"
    )


def _section(part: Illustrated) -> str:
    found = part.findings
    cut = "" if found.complete else '<p class="cut">Cut short: this is what was done by then.</p>\n'
    sentences = "".join(f"<p>{escape(one)}</p>\n" for one in found.sentences)
    return (
        f'<section id="{escape(found.experiment)}">\n<h2>{escape(found.title)}</h2>\n{cut}'
        f'<div class="said">{sentences}</div>\n'
        f'<pre class="command">{escape(found.command)}</pre>\n'
        f"{_figures(part)}"
        f"<details><summary>Data</summary><p>{_links(part, '')}</p>"
        f"<pre>{escape(as_text(as_object(found)))}</pre></details>\n</section>\n"
    )


def _failed(failures: Mapping[str, str]) -> str:
    """What there is nothing of but a reason."""
    return "".join(
        f'<section id="{escape(name)}">\n<h2>{escape(name)}</h2>\n'
        f'<p class="cut">Failed: {escape(reason)}</p>\n</section>\n'
        for name, reason in failures.items()
    )


def _figures(part: Illustrated) -> str:
    drawn = ""
    for chart in part.findings.charts:
        if chart.name in part.svgs:
            name = f"{part.findings.experiment}-{chart.name}"
            svg = _inline(part.svgs[chart.name], name, chart.title)
            links = _links(part, chart.name)
            drawn += f"<figure>{svg}<figcaption>{links}</figcaption></figure>\n"
    return drawn


def _links(part: Illustrated, name: str) -> str:
    links = part.files.get(name, ())
    return " · ".join(f'<a href="{escape(where)}">{escape(word)}</a>' for word, where in links)


def _inline(svg: str, name: str, title: str) -> str:
    """The picture as a part of a page: no prologue, names of its own, as wide as there is room."""
    said = f'<svg role="img" aria-label="{escape(title)}"'
    body = _METADATA.sub("", svg[svg.index("<svg") :].strip())
    body = _IDS.sub(lambda match: f"{match[1]}{name}-", body)
    body = re.sub(r' (width|height)="[^"]*pt"', "", body, count=2)
    return body.replace("<svg", said, 1)


_STYLE = """
:root{--paper:#fff;--ink:#1d1d1f;--faint:#66666c;--line:#e3e3e6;--soft:#f5f5f7;--link:#0059a6}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
 font:17px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
header,main{max-width:62rem;margin:0 auto;padding:0 1.5rem}
header{padding-top:3rem}
h1{font-size:2rem;line-height:1.2;margin:0}
header p{color:var(--faint);margin:.3rem 0 1rem}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;margin:0;padding:0}
a{color:var(--link);text-decoration:none}
a:hover,a:focus-visible{text-decoration:underline}
section{border-top:1px solid var(--line);margin-top:2.2rem;padding-top:1.4rem}
h2{font-size:1.35rem;line-height:1.3;margin:0 0 .6rem}
.said p{margin:.35rem 0;max-width:46rem}
.cut{color:#a33;font-weight:600;margin:.3rem 0}
pre{font:.82rem/1.5 ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono",monospace;
 background:var(--soft);border-radius:8px;padding:.7rem 1rem;margin:1rem 0;overflow-x:auto}
.command::before{content:"$ ";color:var(--faint)}
figure{margin:1.4rem 0;border:1px solid var(--line);border-radius:10px;overflow:hidden}
figure svg{display:block;width:100%;height:auto}
figcaption{border-top:1px solid var(--line);color:var(--faint);font-size:.85rem;padding:.5rem 1rem}
details pre{max-height:28rem;overflow:auto}
details p{margin:.6rem 0}
summary{cursor:pointer;color:var(--faint)}
main{padding-bottom:4rem}
@media (prefers-color-scheme:dark){
 :root{--paper:#121212;--ink:#ececee;--faint:#a0a0a8;--line:#303034;--soft:#1c1c1f;--link:#7ab8ff}
 figure svg{filter:invert(.93) hue-rotate(180deg)}
 .cut{color:#ff8a80}
}
@media print{details{display:none}figure{break-inside:avoid}}
"""
