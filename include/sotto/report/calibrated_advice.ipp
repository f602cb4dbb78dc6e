#pragma once

#include "sotto/report/calibrated_advice.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/report/detail/sections/report_advice.hpp"

namespace sotto {

SOTTO_DECL std::optional<advice> calibrated_advice(std::span<const run_log> runs,
                                                   const network_link& link,
                                                   detail::calibration_options how) {
    const run_log* run = detail::reporting::compared_run(runs);
    if (!run) return std::nullopt;
    layout tensors;
    for (const detail::run_tensor& t : run->about.tensors) tensors.add(t.name, t.shape);
    return advise(computing_seconds(*run), link, run->about.ranks(), tensors, how);
}

SOTTO_DECL std::optional<advice> calibrated_advice(const run_log& run, const network_link& link,
                                                   detail::calibration_options how) {
    return calibrated_advice(std::span(&run, 1), link, how);
}

}  // namespace sotto
