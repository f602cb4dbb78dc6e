#pragma once

#include "sotto/report/advice_calibration.hpp"

#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/core/config.hpp"
#include "sotto/logging/detail/report_text.hpp"

namespace sotto {

SOTTO_DECL std::vector<detail::way_to_send> usual_ways(const layout& tensors, int world_size,
                                                       detail::calibration_options how) {
    std::vector<detail::way_to_send> ways;
    const auto add = [&](std::string name, const auto& compressor) {
        ways.push_back(calibrate(std::move(name), compressor, tensors, world_size, how));
    };
    add("whole gradients", sotto::none{});
    ways.back().dense = true;
    add("fp16", sotto::fp16{});
    for (const double density : {0.1, 0.01, 0.001})
        add("top-k " + detail::reporting::digits(100.0 * density, 1) + "\u202f% with a residual",
            sparsified{top_k{density},
                       residual{},
                       constant_density{},
                       local_clipping{},
                       {.values = wire::value_format::fp16}});
    for (const double density : {0.1, 0.01, 0.001})
        add("DGC " + detail::reporting::digits(100.0 * density, 1) + "\u202f%",
            dgc{.density = density, .values = wire::value_format::fp16});
    return ways;
}

SOTTO_DECL advice advise(double compute_seconds, const network_link& link, int world_size,
                         const layout& tensors, detail::calibration_options how) {
    detail::check_asked(compute_seconds, link, world_size);  // throws before the slow measurement
    if (tensors.size() == 0) throw invalid_option("advise: the layout has no weights");
    return advise(compute_seconds, link, world_size, usual_ways(tensors, world_size, how));
}

}  // namespace sotto
