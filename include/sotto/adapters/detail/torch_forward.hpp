#pragma once

#include <concepts>
#include <memory>
#include <type_traits>

#include "sotto/adapters/detail/torch_library.hpp"
#include "sotto/data/labelled_batch.hpp"

namespace sotto::detail {

/// Passes a labelled batch to the module's forward as examples x input, without a copy.
struct torch_inputs {};

template <class T>
std::shared_ptr<T> torch_pointer(const std::shared_ptr<T>& module) {
    return module;
}
template <class T>
std::shared_ptr<T> torch_pointer(const ::torch::nn::ModuleHolder<T>& module) {
    return module.ptr();
}

template <class M>
concept holds_torch_module = requires(const M& module) {
    { *torch_pointer(module) } -> std::convertible_to<::torch::nn::Module&>;
};

/// The type of the batch parameter of a function (module, batch). A generic lambda has none and
/// gets a labelled batch.
template <class Forward>
struct torch_batch {
    using type = sotto::data::labelled_batch;
};
template <class Forward>
    requires requires {
        &Forward::operator();
    }
struct torch_batch<Forward> : torch_batch<decltype(&Forward::operator())> {};
template <class Result, class Forward, class Module, class Batch, bool throws_nothing>
struct torch_batch<Result (Forward::*)(Module, Batch) const noexcept(throws_nothing)> {
    using type = std::remove_cvref_t<Batch>;
};
template <class Result, class Module, class Batch, bool throws_nothing>
struct torch_batch<Result (*)(Module, Batch) noexcept(throws_nothing)> {
    using type = std::remove_cvref_t<Batch>;
};

template <class Module, class Forward, class Batch>
concept torch_passes = (std::same_as<Forward, torch_inputs> &&
                        requires(Module & module, at::Tensor inputs) {
                            { module.forward(inputs) } -> std::convertible_to<at::Tensor>;
                        }) ||
                       std::is_invocable_r_v<at::Tensor, const Forward&, Module&, const Batch&>;

}  // namespace sotto::detail
