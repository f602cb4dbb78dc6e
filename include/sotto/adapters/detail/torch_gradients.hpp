#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/adapters/detail/torch_library.hpp"
#include "sotto/adapters/detail/torch_memory.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/transports/detail/simulated/fiber.hpp"

namespace sotto::detail {

/// Runs autograd into a span and reports each parameter when its part is final.
class torch_gradients {
public:
    torch_gradients(const layout& tensors, std::vector<at::Tensor> parameters)
        : memory_(tensors, torch_memory::kind::only_lent),
          parameters_(std::move(parameters)),
          listener_(std::make_shared<listener>()) {
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            parameters_[i].mutable_grad().reset();
            // A parameter has one such node while a pointer to it exists, regardless of its number
            // of uses.
            nodes_.push_back(::torch::autograd::impl::grad_accumulator(parameters_[i]));
            nodes_.back()->add_post_hook(std::make_unique<hook>(listener_, i));
        }
    }

    /// Writes d root / d parameters to `out`. `given` is the gradient with respect to root, unless
    /// root is one number. Parameters that root does not depend on get zeros and are not announced.
    ///   errors  invalid_option: root depends on no parameter; exceptions of torch and on_ready
    void write(const at::Tensor& root, const at::Tensor& given, const layout& tensors,
               std::span<float> out, auto&& on_ready) {
        if (!root.requires_grad())
            throw invalid_option(
                "torch_model: what the module returned depends on no parameter that learns; "
                "expected a tensor with a gradient");
        std::ranges::fill(out, 0.0f);
        const torch_memory::loan there = memory_.lend(out);
        const attached views{*this};
        // A thread cannot reenter autograd, so ranks that share a thread announce afterwards.
        const bool afterwards = simulation::fiber::is_here();
        ready_.clear();
        const auto tell = [&](std::size_t index) {
            on_ready(tensors[static_cast<std::int64_t>(index)]);
        };
        auto announce = [&](std::size_t index) {
            if (afterwards)
                ready_.push_back(index);
            else
                tell(index);
        };
        {
            const hearing heard{*listener_, announce};
            ::torch::autograd::backward({root}, {given});
        }
        if (listener_->failure) std::rethrow_exception(std::exchange(listener_->failure, nullptr));
        for (const std::size_t index : ready_) tell(index);
    }

private:
    /// Receiver of the hooks' calls. Torch's graph may outlive the model, so both own it.
    struct listener {
        void* to = nullptr;
        void (*call)(void*, std::size_t) = nullptr;
        std::exception_ptr failure{};  // cannot pass through torch's engine

        void hear(std::size_t index) noexcept {
            if (to == nullptr || failure) return;
            try {
                call(to, index);
            } catch (...) {
                failure = std::current_exception();
            }
        }
    };

    struct hook final : ::torch::autograd::FunctionPostHook {
        hook(std::shared_ptr<listener> told, std::size_t which)
            : listener_(std::move(told)), index_(which) {}

        ::torch::autograd::variable_list operator()(
            const ::torch::autograd::variable_list& outputs,
            const ::torch::autograd::variable_list&) override {
            listener_->hear(index_);
            return outputs;
        }

    private:
        std::shared_ptr<listener> listener_;
        std::size_t index_;
    };

    /// Attaches gradients only during the computation, because the lent span is reused afterwards.
    struct attached {
        torch_gradients& of;

        explicit attached(torch_gradients& all) : of(all) {
            for (std::size_t i = 0; i < of.parameters_.size(); ++i)
                of.parameters_[i].mutable_grad() = of.memory_.views()[i];
        }
        ~attached() {
            for (at::Tensor& p : of.parameters_) p.mutable_grad().reset();
        }
        attached(const attached&) = delete;
        attached& operator=(const attached&) = delete;
    };

    struct hearing {
        listener& by;

        template <class Announce>
        hearing(listener& told, Announce& announce) : by(told) {
            by = {&announce,
                  [](void* to, std::size_t index) { (*static_cast<Announce*>(to))(index); },
                  {}};
        }
        ~hearing() { by.to = nullptr; }
        hearing(const hearing&) = delete;
        hearing& operator=(const hearing&) = delete;
    };

    torch_memory memory_;
    std::vector<at::Tensor> parameters_;
    std::shared_ptr<listener> listener_;
    std::vector<std::shared_ptr<::torch::autograd::Node>> nodes_;
    std::vector<std::size_t> ready_;  // in the order of completion
};

}  // namespace sotto::detail
