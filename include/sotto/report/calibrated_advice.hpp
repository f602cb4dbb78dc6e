#pragma once

#include <optional>
#include <span>

#include "sotto/logging/run_log.hpp"
#include "sotto/report/advice.hpp"
#include "sotto/report/advice_calibration.hpp"

namespace sotto {

/// "Does it pay here?" for the usual ways to send, measured on this machine. Tensors and computing
/// time are those of the first run of several workers that sent whole gradients. Without one, they
/// are those of the first run of several workers. Returns nothing without such a run.
///   cost    see calibrate
///   errors  see calibrate; invalid_option: tensors that a layout does not accept, such as two with
///           one name
std::optional<advice> calibrated_advice(std::span<const run_log> runs, const network_link& link,
                                        detail::calibration_options how = {});

/// The same for one run.
std::optional<advice> calibrated_advice(const run_log& run, const network_link& link,
                                        detail::calibration_options how = {});

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/calibrated_advice.ipp"
#endif
