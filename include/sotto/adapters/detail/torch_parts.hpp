#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "sotto/adapters/detail/torch_library.hpp"
#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/digester.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"

namespace sotto::detail {

/// The parameters and buffers of a LibTorch module, collected once. A shared tensor appears once,
/// under its first name.
///   errors  invalid_option: no parameter that learns; a parameter that learns, or a buffer, that
///           is not float32, not dense or not on the CPU; two parameters that overlap without being
///           the same tensor
class torch_parts {
public:
    /// A count that is stored as a float, exact up to 2^24.
    struct counter {
        at::Tensor count;
        std::int64_t index = 0;  // in the layout of buffers
    };

    explicit torch_parts(const ::torch::nn::Module& module) {
        for (const auto& part : module.named_modules()) {
            const std::string prefix = part.key().empty() ? "" : part.key() + ".";
            const bool normalises = part.value()->name().find("Norm") != std::string::npos;
            for (const auto& p : part.value()->named_parameters(false))
                add_parameter(prefix + p.key(), p.value(), normalises);
            for (const auto& b : part.value()->named_buffers(false))
                add_buffer(prefix + b.key(), b.value());
        }
        if (learnt.empty())
            throw invalid_option(
                "torch_model: the module has no parameter that learns; expected one at least with "
                "requires_grad");
        refuse_overlaps();
    }

    /// Returns a digest of the tensors that never change, as text that ranks compare.
    std::string fixed() const {
        if (fixed_ == 0) return "nothing";
        return std::to_string(fixed_) + (fixed_ == 1 ? " tensor, " : " tensors, ") +
               checkpoint::hex(digest_.value());
    }

    layout parameters, buffers;
    std::vector<at::Tensor> learnt;  // one for each of `parameters`
    std::vector<at::Tensor> kept;    // one for each of `buffers`; undefined for a counter
    std::vector<counter> counters;

private:
    bool is_new(const at::Tensor& value) {
        return value.defined() && seen_.insert(value.unsafeGetTensorImpl()).second;
    }

    static void require_plain(const std::string& what, const at::Tensor& value) {
        if (!value.device().is_cpu())
            throw invalid_option("torch_model: " + what + " is on " + value.device().str() +
                                 "; expected the CPU: module.to(torch::kCPU)");
        if (value.layout() != c10::kStrided)
            throw invalid_option("torch_model: " + what + " is not dense; expected dense tensors");
        if (value.scalar_type() != c10::kFloat)
            throw invalid_option("torch_model: " + what + " is of type " +
                                 c10::toString(value.scalar_type()) +
                                 "; expected Float: module.to(torch::kFloat32)");
    }

    void add_parameter(const std::string& name, const at::Tensor& value, bool normalises) {
        if (!is_new(value)) return;
        if (!value.requires_grad()) return fix(name, value);
        require_plain("parameter '" + name + "'", value);
        const std::string_view own = std::string_view(name).substr(name.rfind('.') + 1);
        const bool is_vector = value.dim() <= 1;
        tensor_kind kind = tensor_kind::weight;
        if (normalises && is_vector)
            kind = tensor_kind::normalisation;
        else if (is_vector && own.find("bias") != own.npos)
            kind = tensor_kind::bias;
        parameters.add(name, value.sizes().vec(), kind);
        learnt.push_back(value);
    }

    void add_buffer(const std::string& name, const at::Tensor& value) {
        if (!is_new(value)) return;
        if (!value.is_floating_point() && !value.is_complex()) {
            if (value.scalar_type() != c10::kLong || value.dim() != 0 || !value.device().is_cpu())
                return fix(name, value);
            counters.push_back({value, std::ssize(buffers.tensors())});
            buffers.add(name, {});
            kept.emplace_back();
            return;
        }
        require_plain("buffer '" + name + "'", value);
        buffers.add(name, value.sizes().vec());
        kept.push_back(value);
    }

    void fix(const std::string& name, const at::Tensor& value) {
        ++fixed_;
        const at::Tensor whole = value.detach().to(c10::kCPU).contiguous();
        digest_.update(std::as_bytes(std::span(name)));
        digest_.update({static_cast<const std::byte*>(whole.data_ptr()), whole.nbytes()});
    }

    /// A view of another parameter would not move with it.
    void refuse_overlaps() const {
        struct place {
            const float *from, *to;
            std::size_t index;
        };
        std::vector<place> places;
        for (std::size_t i = 0; i < learnt.size(); ++i) {
            const at::Tensor& p = learnt[i];
            if (p.numel() == 0) continue;
            std::int64_t last = 0;
            for (std::int64_t d = 0; d < p.dim(); ++d) last += (p.size(d) - 1) * p.stride(d);
            const auto* const from = static_cast<const float*>(p.data_ptr());
            places.push_back({from, from + last, i});
        }
        std::ranges::sort(places, {}, &place::from);
        for (std::size_t i = 1; i < places.size(); ++i)
            if (places[i].from <= places[i - 1].to)
                throw invalid_option("torch_model: parameters '" + name_of(places[i - 1].index) +
                                     "' and '" + name_of(places[i].index) +
                                     "' share memory; expected one tensor, registered twice");
    }

    const std::string& name_of(std::size_t index) const {
        return parameters[static_cast<std::int64_t>(index)].name;
    }

    std::unordered_set<const c10::TensorImpl*> seen_;
    std::int64_t fixed_ = 0;
    checkpoint::digester digest_;
};

}  // namespace sotto::detail
