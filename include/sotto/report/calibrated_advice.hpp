#pragma once

#include <optional>
#include <span>

#include "sotto/logging/run_log.hpp"
#include "sotto/report/advice.hpp"
#include "sotto/report/advice_calibration.hpp"

namespace sotto {

/// "Does it pay here?" for the usual ways to send, tried out on this machine, in place of how the
/// first run of several workers that sent whole gradients did (else the first of several workers):
/// on its tensors, beside its computing. Nothing where there is no such run.
///   cost    see calibrate
///   errors  see calibrate; invalid_option: tensors that no layout takes, as two of one name
std::optional<advice> calibrated_advice(std::span<const run_log> runs, const network_link& link,
                                        detail::calibration_options how = {});

/// Of one run.
std::optional<advice> calibrated_advice(const run_log& run, const network_link& link,
                                        detail::calibration_options how = {});

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/calibrated_advice.ipp"
#endif
