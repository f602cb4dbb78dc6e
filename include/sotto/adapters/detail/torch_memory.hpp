#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sotto/adapters/detail/torch_library.hpp"
#include "sotto/core/layout.hpp"

namespace sotto::detail {

/// LibTorch's tensors one after another in one memory. They share a storage, of which the place can
/// be exchanged: all of them then lie elsewhere, and nothing was copied.
///   cost    `lend` and its end: constant, whatever the number of tensors
class torch_memory {
public:
    /// Whether there is memory of its own, in which tensors lie while none is lent.
    enum class kind { owned, only_lent };

    torch_memory(const layout& tensors, kind which)
        : size_(static_cast<std::size_t>(tensors.size())), storage_(take(size_, which)) {
        for (const tensor& t : tensors)
            views_.push_back(::torch::empty({0}, ::torch::kFloat32)
                                 .set_(storage_, t.offset, t.shape, strides_of(t.shape)));
    }

    /// A tensor for each of the layout, contiguous.
    const std::vector<at::Tensor>& views() const noexcept { return views_; }

    /// Its own memory, or what is lent to it.
    std::span<float> values() const noexcept {
        return {static_cast<float*>(storage_.data_ptr().get()), size_};
    }

    bool holds(const at::Tensor& value) const noexcept {
        return value.defined() && value.has_storage() &&
               value.storage().unsafeGetStorageImpl() == storage_.unsafeGetStorageImpl();
    }

    /// Where tensors lie until it goes.
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

    /// Of as many floats as the layout has; tensors that are only read may be lent for reading.
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
