#pragma once

#include "sotto/strategies/detail/codistillation/received_model.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL received_model::received_model(const layout& tensors, std::size_t buffers,
                                          std::size_t message_max)
    : parameters_(static_cast<std::size_t>(tensors.size())),
      buffers_(buffers),
      room_(message_max),
      parts_(tensors.tensors().size() + 2) {}

SOTTO_DECL bool received_model::is_new() const {
    if (why_lost_) std::rethrow_exception(why_lost_);
    return is_new_;
}

SOTTO_DECL checkpoint::published_model received_model::model() {
    is_new_ = false;
    return {facts_, {parameters_.begin(), parameters_.end()}, buffers_};
}

}  // namespace sotto::detail
