#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/report/report.hpp"
#include "sotto/logging/run_log.hpp"

namespace sotto::testing {

/// A run of four workers; each message is the gradient's part `share`.
inline run_log made_up(std::string name, std::int64_t steps, double share, double accuracy) {
    run_log log;
    log.name = std::move(name);
    log.begin({.world_size = 4,
               .options = {{"trainer.seed", "7"}, {"share", std::to_string(share)}},
               .tensors = {{.name = "w", .shape = {100, 10}, .size = 1000},
                           {.name = "b", .shape = {10}, .size = 10}}});
    const std::vector<std::int64_t> tensor_bytes{static_cast<std::int64_t>(4000 * share), 40};
    const double message = static_cast<double>(tensor_bytes[0] + 40);
    const double sent = (share < 0.95 ? 3.0 : 1.5) * message;
    const std::int64_t an_epoch = std::max<std::int64_t>(steps / 10, 1);
    for (std::int64_t s = 1; s <= steps; ++s) {
        const double at = 0.01 * static_cast<double>(s);
        log.add(run_log::step{.number = s,
                              .epoch = static_cast<double>(s - 1) / static_cast<double>(an_epoch),
                              .seconds = at,
                              .loss = 2.0 / (1.0 + at) + 0.1 * static_cast<double>(s * 37 % 11),
                              .costs = {.examples = 32,
                                        .load = 0.001,
                                        .compute = 0.004,
                                        .compress = share < 0.95 ? 0.001 : 0.0,
                                        .wait = 0.003,
                                        .apply = 0.001,
                                        .dense_bytes = 4040,
                                        .message_bytes = message,
                                        .bytes_sent = sent,
                                        .bytes_received = sent},
                              .tensor_message_bytes = tensor_bytes});
        if (s % an_epoch != 0) continue;
        const auto count = static_cast<double>(an_epoch);
        const double reached = accuracy * (1.0 - 0.3 / (1.0 + at));
        log.add(run_log::finished_epoch{.epoch = s / an_epoch,
                                        .step = s,
                                        .seconds = at,
                                        .loss = 2.0 / (1.0 + at),
                                        .evaluated = evaluation{2.1 / (1.0 + at), reached, 100},
                                        .costs = {.examples = 32 * count,
                                                  .load = 0.001 * count,
                                                  .compute = 0.004 * count,
                                                  .compress = (share < 0.95 ? 0.001 : 0.0) * count,
                                                  .wait = 0.003 * count,
                                                  .apply = 0.001 * count,
                                                  .dense_bytes = 4040 * count,
                                                  .message_bytes = message * count,
                                                  .bytes_sent = sent * count,
                                                  .bytes_received = sent * count}});
    }
    log.end(0.01 * static_cast<double>(steps), false);
    return log;
}

/// What is wrong with the markup: tags that are not closed in order, text outside of escapes.
inline std::string fault_of(std::string_view html) {
    std::vector<std::string> open;
    for (std::size_t i = 0; i < html.size();) {
        if (html[i] != '<') {
            ++i;
            continue;
        }
        const std::size_t end = html.find('>', i);
        if (end == html.npos) return "a tag without an end";
        const std::string_view tag = html.substr(i + 1, end - i - 1);
        i = end + 1;
        if (tag.starts_with("!doctype")) continue;
        const bool closes = tag.starts_with('/');
        const std::string name(
            tag.substr(closes ? 1 : 0, tag.find_first_of(" /", 1) - (closes ? 1 : 0)));
        if (closes) {
            const std::string closed(tag.substr(1));
            if (open.empty() || open.back() != closed) return "unexpected </" + closed + ">";
            open.pop_back();
        } else if (!tag.ends_with('/') && name != "meta" && name != "link") {
            open.push_back(name);
            if (name == "style") i = html.find("</style>", i);
        }
    }
    return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

inline std::string page(const std::vector<run_log>& runs, const report_options& options = {}) {
    return reporting::page(runs, options);
}

inline bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace sotto::testing
