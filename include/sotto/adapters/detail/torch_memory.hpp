#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sotto/adapters/detail/torch_library.hpp"
#include "sotto/core/layout.hpp"

namespace sotto::detail {

/// LibTorch tensors contiguous in one memory block. They share a storage whose address can be
/// exchanged, which moves all of them without a copy.
///   cost    `lend` and its end: constant, regardless of the number of tensors
class torch_memory {
public:
    /// `owned`: tensors use own memory while none is lent.
    enum class kind { owned, only_lent };

    torch_memory(const layout& tensors, kind which)
        : size_(static_cast<std::size_t>(tensors.size())), storage_(take(size_, which)) {
        for (const tensor& t : tensors)
            views_.push_back(::torch::empty({0}, ::torch::kFloat32)
                                 .set_(storage_, t.offset, t.shape, strides_of(t.shape)));
    }

    /// One contiguous tensor for each of the layout.
    const std::vector<at::Tensor>& views() const noexcept { return views_; }

    /// Its own memory, or the memory currently lent.
    std::span<float> values() const noexcept {
        return {static_cast<float*>(storage_.data_ptr().get()), size_};
    }

    bool holds(const at::Tensor& value) const noexcept {
        return value.defined() && value.has_storage() &&
               value.storage().unsafeGetStorageImpl() == storage_.unsafeGetStorageImpl();
    }

    /// The tensors use the lent memory until this is destroyed.
    class [[nodiscard]] loan {
    public:
        loan(const c10::Storage& to, float* place) noexcept
            : to_(to), before_(to.set_data_ptr(at::DataPtr(place, c10::Device(c10::kCPU)))) {}
        ~loan() { to_.set_data_ptr_noswap(std::move(before_)); }

        loan(const loan&) = delete;
        loan& operator=(const loan&) = delete;

    private:
        const c10::Storage& to_;
        at::DataPtr before_;
    };

    /// Lends memory of as many floats as the layout has. Tensors that are only read may use const
    /// memory.
    loan lend(std::span<const float> place) const noexcept {
        return {storage_, const_cast<float*>(place.data())};
    }

    static std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape) {
        std::vector<std::int64_t> strides(shape.size());
        std::int64_t step = 1;
        for (std::size_t i = shape.size(); i-- > 0; step *= shape[i]) strides[i] = step;
        return strides;
    }

private:
    static c10::Storage take(std::size_t size, kind which) {
        if (which == kind::owned)
            return ::torch::zeros({static_cast<std::int64_t>(size)}, ::torch::kFloat32).storage();
        return c10::Storage(c10::Storage::use_byte_size_t(), size * sizeof(float),
                            at::DataPtr(nullptr, c10::Device(c10::kCPU)), nullptr, false);
    }

    std::size_t size_;
    c10::Storage storage_;
    std::vector<at::Tensor> views_;
};

}  // namespace sotto::detail
