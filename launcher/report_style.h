#pragma once

namespace packline {

// The style of the page that `packline report` writes.
constexpr const char* kReportStyle = R"css(
:root { color-scheme: light dark; --paper: #fbfaf7; --card: #fff; --ink: #1d232a; --soft: #5b6570;
  --rule: #d9dcd6; --bar: #2d6a8e; --track: #e6e9e6; --loud: #8a3b00; --loud-paper: #fdf1e3; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14181c; --card: #1b2127; --ink: #e6e9ec; --soft: #a3adb7; --rule: #39424b;
    --bar: #76b7dd; --track: #2a323a; --loud: #ffb877; --loud-paper: #2e2115; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 980px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 40px 0 8px; }
h3 { font-size: 14px; font-weight: 600; margin: 16px 0 4px; overflow-wrap: anywhere; }
p { margin: 4px 0 10px; max-width: 76ch; }
.soft, figcaption { color: var(--soft); }
code, pre { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
code { overflow-wrap: anywhere; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 1px;
  margin: 20px 0; background: var(--rule); border: 1px solid var(--rule); }
.facts div { background: var(--card); padding: 10px 14px; }
.facts dt, .facts span { display: block; color: var(--soft); font-size: 12px; }
.facts b { font-size: 21px; font-weight: 600; font-variant-numeric: tabular-nums; }
.warning { border-left: 4px solid var(--loud); background: var(--loud-paper); padding: 8px 14px;
  margin: 8px 0; max-width: 90ch; overflow-wrap: anywhere; }
.warning b { color: var(--loud); }
ul.advice { padding-left: 20px; margin: 8px 0; }
ul.advice li { margin: 4px 0; max-width: 90ch; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 5px 10px; border-bottom: 1px solid var(--rule);
  vertical-align: top; white-space: nowrap; }
th { color: var(--soft); font-size: 12px; font-weight: 600; vertical-align: bottom; }
th.text, td.text { text-align: left; white-space: normal; }
td.text { overflow-wrap: anywhere; min-width: 12ch; }
tr.own td { font-weight: 600; }
.track { display: inline-block; width: 120px; height: 10px; background: var(--track);
  vertical-align: middle; }
.track i { display: block; height: 100%; background: var(--bar); }
figure { margin: 8px 0 20px; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(360px, 1fr)); gap: 8px 24px; }
svg { display: block; width: 100%; height: auto; background: var(--card);
  border: 1px solid var(--rule); }
svg text { fill: var(--soft); font-size: 12px; }
.pair svg text { font-size: 18px; }
svg .grid { stroke: var(--rule); fill: none; }
svg .bar { fill: var(--bar); }
svg .line { stroke: var(--bar); stroke-width: 1.5; fill: none; }
details { margin-top: 8px; }
summary { cursor: pointer; }
pre { background: var(--card); border: 1px solid var(--rule); padding: 12px; overflow-x: auto; }
)css";

}  // namespace packline
