#pragma once

#include "sotto/report/detail/charts/report_style.hpp"

#include <array>
#include <cstddef>

#include "sotto/core/config.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL std::string style() {
    constexpr std::array light{"#0072b2", "#c44e00", "#00805d", "#a3437f",
                               "#946200", "#2a86ba", "#555555", "#756a00"};
    constexpr std::array dark{"#5bb8ee", "#ff8f52", "#2fcb9e", "#e79bc6",
                              "#f0b440", "#a6dbf9", "#bbbbbb", "#e6dd5a"};
    constexpr std::array dashes{"none", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "1 3", "6 2 1 2"};
    constexpr const char* rules = R"(
*{box-sizing:border-box}
body{margin:0 auto;max-width:1280px;padding:20px 24px 60px;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
h1{font-size:22px;margin:0 0 2px;line-height:1.3}
h2{font-size:17px;margin:40px 0 4px;padding-top:14px;border-top:1px solid var(--rule)}
p{margin:4px 0 12px;max-width:78ch}
.soft{color:var(--soft)}
.says{font-size:18px;line-height:1.45;margin:14px 0 18px;max-width:70ch}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(300px,100%),1fr));gap:14px}
.card{border:1px solid var(--rule);border-top:5px solid;border-radius:4px;padding:12px 16px 14px}
.card h3{margin:0 0 8px;font-size:15px}
.big{display:grid;grid-template-columns:1fr 1fr;gap:10px 16px;margin:0}
.big div{display:flex;flex-direction:column}
.big dt{order:2;color:var(--soft);font-size:13px;line-height:1.35}
.big dd{margin:0;font-size:25px;font-weight:650;line-height:1.2;letter-spacing:-.01em}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(330px,100%),1fr));
gap:18px 26px;
margin-bottom:18px}
svg{width:100%;height:auto;max-width:560px;display:block;overflow:visible}
svg.wide{max-width:1100px;min-width:620px}
svg.bars{width:300px;max-width:none;height:26px}svg rect.cw{fill:var(--wait)}
.sent{stroke:var(--ink);stroke-width:1}
svg text{font:11.5px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:var(--soft)}
svg .h{font-size:13px;font-weight:650;fill:var(--ink)}
svg .n{font-weight:650;paint-order:stroke;stroke:var(--paper);stroke-width:3px;
stroke-linejoin:round}
svg path{fill:none}
.l{stroke-width:2;stroke-linejoin:round}
.l.faint{stroke-width:1;opacity:.28;stroke-dasharray:none!important}
svg .band{opacity:.15}
.m{stroke:var(--paper);stroke-width:1}
.g{stroke:var(--rule);stroke-width:1}.a{stroke:var(--soft);stroke-width:1}
.edge{stroke:var(--c0)}.tip{fill:var(--c0)}.node{fill:var(--ink);stroke:var(--paper)}
.here{stroke:var(--ink);stroke-width:1;stroke-dasharray:3 3}
.scroll{overflow-x:auto;--c:linear-gradient(90deg,var(--paper) 12px,transparent);
--d:linear-gradient(270deg,var(--paper) 12px,transparent);
--s:linear-gradient(90deg,#8886,transparent);
--t:linear-gradient(270deg,#8886,transparent);background:var(--c) left/36px 100% no-repeat local,
var(--d) right/36px 100% no-repeat local,var(--s) left/12px 100% no-repeat scroll,
var(--t) right/12px 100% no-repeat scroll}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr));gap:10px 36px;
align-items:start}.pair>*{min-width:0}
table{border-collapse:collapse;margin:8px 0 14px;font-variant-numeric:tabular-nums;font-size:14px}
caption{text-align:left;color:var(--soft);font-size:13px;padding-bottom:4px}
th,td{padding:4px 14px 4px 0;text-align:right;vertical-align:top;
border-bottom:1px solid var(--rule)}
th{overflow-wrap:normal}th:first-child,td:first-child{text-align:left}
th{font-weight:600}thead th{color:var(--soft);font-size:13px;vertical-align:bottom}
td{white-space:nowrap}th.text{text-align:left}
td.text{text-align:left;white-space:normal;overflow-wrap:anywhere}
.best{font-weight:700}.best::after{content:" ◂"}
.rows{display:grid;grid-template-columns:minmax(90px,max-content) 1fr max-content;gap:8px 12px;
align-items:center;margin:10px 0}.rows>div{display:contents}
.bar{display:flex;height:30px}
.bar span{display:block;overflow:hidden;white-space:nowrap;font-size:12px;line-height:30px;
padding:0;
text-indent:6px;color:var(--on);border-right:1px solid var(--paper)}
.small{height:8px;min-width:70px;background:var(--rule);margin-top:3px}.small span{height:8px;
border:0}
.key{display:inline-block;width:11px;height:11px;margin:0 5px 0 0;border-radius:2px}
.keys span{margin-right:16px;white-space:nowrap}
.differs td{background:var(--tint)}
ul.notes{margin:0 0 14px;padding-left:20px}.bad{color:var(--bad);font-weight:600}
details{margin:6px 0}summary{cursor:pointer;color:var(--soft)}
@media(max-width:560px){body{padding:14px 14px 40px;font-size:14px}.says{font-size:16px}
.big dd{font-size:21px}th,td{padding-right:10px}.rows{display:block}
.rows>div{display:grid;grid-template-columns:1fr max-content;gap:2px 12px;margin-bottom:12px}
.rows .bar{grid-column:1/-1;grid-row:2}
.options th:first-child{overflow-wrap:anywhere;min-width:8em}.options td.text{min-width:10em}}
@media print{body{max-width:none;padding:0;font-size:11px}.card,svg,tr{break-inside:avoid}
h2{break-after:avoid}.charts{grid-template-columns:repeat(3,1fr)}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}})";
    const auto scheme = [](const auto& colours, const char* rest) {
        std::string out = ":root{";
        for (std::size_t i = 0; i < colours.size(); ++i)
            out += "--c" + std::to_string(i) + ":" + colours[i] + ";";
        return out + rest + "}";
    };
    const std::string on_white =
        scheme(light,
               "--paper:#fff;--ink:#1b1b1b;--soft:#5c5c5c;--rule:#e2e2e2;--tint:#fff6dc;--on:#fff;"
               "--wait:#8a8a8a;--bad:#b3261e;color-scheme:light");
    const std::string on_black = scheme(
        dark,
        "--paper:#16181b;--ink:#ececec;--soft:#a6a6a6;--rule:#34383d;--tint:#37301a;--on:#111;"
        "--wait:#8d8d8d;--bad:#ff8a80;color-scheme:dark");
    std::string out = on_white + "@media screen and (prefers-color-scheme:dark){" + on_black + "}";
    for (std::size_t i = 0; i < dashes.size(); ++i) {
        const std::string c = ".c" + std::to_string(i),
                          colour = "var(--c" + std::to_string(i) + ")";
        out += ".l" + c + "{stroke:" + colour + ";stroke-dasharray:" + dashes[i] + "}" +
               "svg .band" + c + ",svg .n" + c + ",svg rect" + c + ",.m" + c + "{fill:" + colour +
               "}.card" + c + "{border-top-color:" + colour + "}.f" + std::to_string(i) +
               "{background:" + colour + "}";
        const std::string g = ".cg" + std::to_string(i);  // grey
        out += ".l" + g + "{stroke:var(--soft);stroke-dasharray:" + dashes[i] + "}svg .n" + g +
               ",.m" + g + "{fill:var(--soft)}";
    }
    return out + ".fw{background:var(--wait)}" + rules;
}

}  // namespace sotto::detail::reporting
