#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sotto/models/gradient_source.hpp"

namespace sotto::detail {

/// Returns a model's predictions with the parameters and buffers of another model of its kind, such
/// as a teacher or an ensemble member. If the model's predict takes no buffers, the model's own
/// buffers are replaced during the call and then restored.
///   shape   labels x outputs(), row-major; valid until the model's next call
///   errors  as predict
template <predictor Model>
std::span<const float> predict_with(Model& model, std::span<const float> parameters,
                                    std::span<const float> buffers,
                                    const typename Model::batch_type& batch) {
    if constexpr (requires { model.predict(parameters, buffers, batch); }) {
        return model.predict(parameters, buffers, batch);
    } else if constexpr (with_buffers<Model>) {
        struct lent {
            Model& by;
            std::vector<float> own{by.buffers().begin(), by.buffers().end()};

            ~lent() { std::ranges::copy(own, by.buffers().begin()); }
        };
        const lent place{model};
        std::ranges::copy(buffers, model.buffers().begin());
        return model.predict(parameters, batch);
    } else {
        return model.predict(parameters, batch);
    }
}

}  // namespace sotto::detail
