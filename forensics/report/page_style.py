"""How do the pages look? One style sheet for light, dark, narrow and paper: system fonts, no image, nothing loaded."""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--field:#f6f8fa;
--bad:#a40e26;--bad-field:#ffebe9;--warn:#7a4b00;--warn-field:#fff4d6;--good:#116329;--good-field:#dafbe1;
--mark:#ffd33d;--mark-ink:#1b1f24;--link:#0550ae}
@media (prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--soft:#9aa5b1;--line:#3d444d;--field:#161b22;
--bad:#ff938a;--bad-field:#3b1518;--warn:#f0c674;--warn-field:#33280d;--good:#7ee787;--good-field:#11301b;
--mark:#7a5d00;--mark-ink:#fff;--link:#79b8ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
main,header,footer{max-width:76rem;margin:0 auto;padding:0 1rem}
h1{font-size:1.6rem;line-height:1.25;margin:1.2rem 0 .4rem}
h2{font-size:1.25rem;margin:2.2rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:1.2rem 0 .3rem}
p{margin:.4rem 0}
a{color:var(--link)}
a:focus-visible,[tabindex]:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{position:static;display:inline-block;padding:.5rem}
.soft,.label{color:var(--soft)}
.label{font-size:.85rem;margin:0 0 .2rem;overflow-wrap:anywhere}
.verdict{display:inline-block;padding:.1rem .6rem;border-radius:.3rem;border:2px solid;letter-spacing:.02em}
.bad{color:var(--bad);background:var(--bad-field)}
.warn{color:var(--warn);background:var(--warn-field)}
.good{color:var(--good);background:var(--good-field)}
.tag{display:inline-block;font-size:.8rem;line-height:1.4;padding:0 .45rem;border:1px solid;border-radius:.7rem;
margin:0 .3rem .2rem 0}
pre,code{font-family:ui-monospace,SFMono-Regular,Consolas,"DejaVu Sans Mono",monospace;font-size:.86rem}
pre{margin:0;padding:.5rem .6rem;background:var(--field);border:1px solid var(--line);border-radius:.3rem;
white-space:pre-wrap;overflow-wrap:anywhere}
code,pre{unicode-bidi:isolate}
mark{background:var(--mark);color:var(--mark-ink);border-radius:.15rem}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:.8rem}
.pair>div{min-width:0}
ol.rows{list-style:none;margin:0;padding:0}
ol.rows>li{padding:.6rem 0 .6rem .7rem;border-left:4px solid transparent;border-bottom:1px solid var(--line)}
ol.rows>li.cause{border-left-color:var(--bad)}
ol.rows>li.follows,ol.rows>li.alone{border-left-color:var(--warn)}
ol.rows>li.renamed{border-left-color:var(--good)}
li:target{background:var(--field)}
dl.facts{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.6rem 0}
dl.facts dt{color:var(--soft)}
dl.facts dd{margin:0;min-width:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.92rem}
caption{text-align:left;color:var(--soft);padding:.2rem 0}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem .35rem 0;border-bottom:1px solid var(--line);
overflow-wrap:anywhere;min-width:4rem}
footer{margin-top:2.5rem;padding-bottom:2rem;color:var(--soft);font-size:.85rem;overflow-wrap:anywhere}
@media (max-width:40rem){.pair{grid-template-columns:1fr;gap:.4rem}dl.facts{grid-template-columns:1fr;gap:0}
dl.facts dd{margin-bottom:.4rem}}
@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--line:#999;--field:#fff;--bad:#8a0000;--bad-field:#fff;
--warn:#5c3a00;--warn-field:#fff;--good:#0a4a1c;--good-field:#fff;--mark:#ddd;--mark-ink:#000;--link:#000}
.skip,nav{display:none}body{font-size:10pt}h2{break-after:avoid}ol.rows>li,.card{break-inside:avoid}.scroll{overflow:visible}}
"""
