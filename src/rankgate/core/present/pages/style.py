"""The style of all pages: light and dark, narrow and wide, on paper."""

from rankgate.core.present.charts.style import DARK, GRADES

_BLUE, _RED = "#1f77c4", "#d55e00"  # higher and lower, as pictures have them
_SHADES = "".join(f".g{i}::before{{background:{colour}}}" for i, colour in enumerate(GRADES))
_DARK_SHADES = "".join(
    f".g{i}::before{{background:{DARK[colour]}}}" for i, colour in enumerate(GRADES)
)

STYLE = f"""
:root{{color-scheme:light dark;--ink:#1b1f24;--dim:#57606a;--paper:#fff;--line:#d0d7de;
--soft:#f3f5f8;--pass:#1a7f37;--fail:#b3261e;--inconclusive:#7a5200;--link:#0550ae;
--shade:0 1px 3px #0001}}
@media(prefers-color-scheme:dark){{:root{{--ink:#e6edf3;--dim:#9aa4af;--paper:#0d1117;--line:#30363d;
--soft:#161b22;--pass:#3fb950;--fail:#ff7b72;--inconclusive:#d29922;--link:#79c0ff;--shade:none}}}}
*{{box-sizing:border-box}}
html{{scroll-padding-top:3.5rem;-webkit-text-size-adjust:100%}}
body{{font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif;color:var(--ink);
background:var(--paper);margin:0}}
main{{max-width:72rem;margin:0 auto;padding:1.5rem 1.25rem 4rem}}
h1,h2,h3,p,li,summary,figcaption{{overflow-wrap:anywhere}}
h1{{font-size:1.7rem;line-height:1.3;margin:.3rem 0 .6rem;letter-spacing:-.01em}}
h2{{font-size:1.25rem;margin:0 0 .6rem}}h3{{font-size:1rem;margin:1.4rem 0 .5rem}}
section{{margin-top:2.6rem}}
p{{margin:.5rem 0}}.lead{{font-size:1.1rem}}.dim{{color:var(--dim)}}
ul{{margin:.8rem 0;padding-left:1.2rem}}li{{margin:.25rem 0}}
a{{color:var(--link);text-underline-offset:.15em}}
:focus-visible{{outline:2px solid var(--link);outline-offset:2px}}
nav{{position:sticky;top:0;z-index:1;display:flex;gap:.25rem 1.1rem;overflow-x:auto;
background:var(--paper);border-block:1px solid var(--line);padding:.6rem 0;margin-top:1.2rem}}
nav a{{white-space:nowrap;text-decoration:none}}nav a:hover{{text-decoration:underline}}
.word{{display:inline-block;padding:.05em .55em;margin-right:.2em;border:2px solid currentColor;
border-radius:.4em}}
.pass{{color:var(--pass)}}.fail{{color:var(--fail)}}.inconclusive{{color:var(--inconclusive)}}
tbody .pass,tbody .fail,tbody .inconclusive{{font-weight:600;white-space:nowrap}}
.scroll{{overflow-x:auto;margin:.6rem 0;border:1px solid var(--line);border-radius:.5em;
box-shadow:var(--shade)}}
.tall{{max-height:34rem}}.tall thead{{position:sticky;top:0}}
table{{border-collapse:collapse;width:100%;font-size:.9rem}}
th,td{{padding:.4rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}}
tbody tr:last-child>*{{border-bottom:0}}
thead th,thead td{{background:var(--soft);vertical-align:bottom}}
tbody tr:hover>*{{background:var(--soft)}}
.n{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}
th.n{{white-space:normal}}td.w{{min-width:15rem}}
th button{{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;
text-align:inherit}}
th button:hover{{text-decoration:underline}}
th[aria-sort=ascending] button::after{{content:" ▲"}}
th[aria-sort=descending] button::after{{content:" ▼"}}
.find{{display:block;margin:.8rem 0 .2rem}}
input{{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--dim);
border-radius:.35em;padding:.25em .6em;max-width:100%}}
details{{border:1px solid var(--line);border-radius:.5em;margin:.5rem 0;padding:.5rem .8rem;
box-shadow:var(--shade)}}
details .scroll{{box-shadow:none}}details h3{{display:inline;margin:0}}
details.part>*+*{{margin-top:.9rem}}details.part details h3{{display:block}}
.contents{{display:block;position:static;border:0}}.contents h2{{font-size:1.05rem;margin:0}}
.contents ul{{margin:.3rem 0;padding-left:1.2rem}}.contents ul ul{{columns:14rem;column-gap:2rem}}
.contents li{{margin:0 0 .2rem;break-inside:avoid}}
.contents a{{white-space:normal;overflow-wrap:anywhere}}
tbody th{{font-weight:inherit}}.warning{{color:var(--inconclusive)}}
dt{{font-weight:600;margin-top:.7rem}}dd{{margin:0 0 0 1.2rem}}
summary{{cursor:pointer}}summary .n{{color:var(--dim);margin-left:.4em}}
details[open]>summary{{margin-bottom:.5rem}}
.lists td{{min-width:3.5rem}}.lists td:nth-child(3n+2){{min-width:8.5rem;overflow-wrap:anywhere}}
.lists td:nth-child(4),.lists th:nth-child(4){{border-right:1px solid var(--line)}}
.move{{color:var(--dim);font-variant-numeric:tabular-nums}}
.g{{white-space:nowrap;font-variant-numeric:tabular-nums}}
.g::before{{content:"";display:inline-block;width:.75em;height:.75em;border-radius:50%;
margin-right:.45em;vertical-align:-.05em}}
.gx::before{{border:1px dashed var(--dim)}}
figure{{margin:1.2rem 0}}svg{{display:block}}
.bars{{display:grid;grid-template-columns:3.6rem 1fr;height:13rem;margin:.6rem 0}}
.bars svg{{width:100%;height:100%;overflow:visible}}
.ticks text{{fill:var(--dim);font-size:.8rem;text-anchor:end;font-variant-numeric:tabular-nums}}
.chart p{{margin:0;font-size:.9rem}}.along{{padding-left:3.6rem}}
.axis{{stroke:var(--dim);stroke-width:1;fill:none}}.grid{{stroke:var(--line);fill:none}}
.axis,.line,.grid{{vector-effect:non-scaling-stroke}}
.whole{{fill:transparent}}a:hover .whole,a:focus .whole{{fill:var(--link);fill-opacity:.15}}
.span{{width:10rem;height:1rem;margin-top:.25em}}
.line{{stroke:var(--dim);stroke-width:2}}.span circle{{fill:var(--dim)}}
.clear .line{{stroke:var(--link)}}.clear circle{{fill:var(--link)}}
figcaption{{color:var(--dim);font-size:.9rem;margin-top:.4rem}}
code{{font-size:.88em;overflow-wrap:anywhere}}
pre{{background:var(--soft);border-radius:.5em;padding:.8rem 1rem;white-space:pre-wrap;
overflow-wrap:anywhere}}
.unseen{{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}}
@media(max-width:40rem){{main{{padding:1rem .8rem 3rem}}h1{{font-size:1.35rem}}
th,td{{padding:.35rem .5rem}}}}
@media print{{:root{{color-scheme:light;--ink:#000;--dim:#444;--paper:#fff;--line:#bbb;
--soft:#f3f3f3;--pass:#1a7f37;--fail:#b3261e;--inconclusive:#7a5200;--link:#000;--shade:none}}
body{{font-size:10pt}}main{{max-width:none;padding:0}}nav:not(.contents),.find{{display:none}}
.scroll{{overflow:visible;border:0;max-height:none}}.tall thead{{position:static}}
section{{margin-top:1.5rem}}h2,h3,summary{{break-after:avoid}}details{{break-inside:auto}}
tr,figure,.bars,.scroll:not(.tall){{break-inside:avoid}}th button{{display:contents}}
table{{font-size:8.5pt}}th,td{{padding:.2rem .4rem}}
thead{{display:table-header-group}}a{{text-decoration:none}}
*{{print-color-adjust:exact;-webkit-print-color-adjust:exact}}}}
@page{{margin:15mm 15mm 18mm;@bottom-right{{content:counter(page) " / " counter(pages);
font:8pt sans-serif;color:#444}}}}
.up{{fill:{_BLUE}}}.down{{fill:{_RED}}}
{_SHADES}
@media screen and (prefers-color-scheme:dark){{{_DARK_SHADES}}}
"""
"""All pages share one style sheet, as unused rules cost little."""
