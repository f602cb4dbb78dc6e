#pragma once

#include <optional>
#include <span>

#include "sotto/core/layout.hpp"
#include "sotto/report/advice.hpp"
#include "sotto/report/advice_calibration.hpp"
#include "sotto/report/detail/sections/report_advice.hpp"
#include "sotto/logging/run_log.hpp"

namespace sotto {

/// "Does it pay here?" for the usual ways to send, tried out on this machine, in place of how the
/// first run of several workers that sent whole gradients did (else the first of several workers):
/// on its tensors, beside its computing. Nothing where there is no such run.
///   cost    see calibrate
///   errors  see calibrate; invalid_option: tensors that no layout takes, as two of one name
inline std::optional<advice> calibrated_advice(std::span<const run_log> runs,
                                               const network_link& link,
                                               detail::calibration_options how = {}) {
    const run_log* run = detail::reporting::compared_run(runs);
    if (!run) return std::nullopt;
    layout tensors;
    for (const detail::run_tensor& t : run->about.tensors) tensors.add(t.name, t.shape);
    return advise(computing_seconds(*run), link, run->about.ranks(), tensors, how);
}

/// Of one run.
inline std::optional<advice> calibrated_advice(const run_log& run, const network_link& link,
                                               detail::calibration_options how = {}) {
    return calibrated_advice(std::span(&run, 1), link, how);
}

}  // namespace sotto
