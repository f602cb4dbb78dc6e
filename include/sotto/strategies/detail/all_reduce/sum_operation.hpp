#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail {

/// A collective's sum of floats over all ranks, without its type.
class sum_operation {
public:
    template <class Operation>
    explicit sum_operation(Operation operation)
        : of_(std::make_unique<model<Operation>>(std::move(operation))) {}

    void start(std::span<float> values, tag label) { of_->start(values, label); }
    /// Does what can be done without blocking; true once the sum is there.
    bool advance() { return of_->advance(); }

private:
    struct any {
        virtual ~any() = default;
        virtual void start(std::span<float> values, tag label) = 0;
        virtual bool advance() = 0;
    };
    template <class Operation>
    struct model final : any {
        explicit model(Operation o) : operation(std::move(o)) {}
        void start(std::span<float> values, tag label) override { operation.start(values, label); }
        bool advance() override { return operation.advance(); }

        Operation operation;
    };

    std::unique_ptr<any> of_;
};

/// Makes one for at most so many values, in a format.
using bind_sum = std::function<sum_operation(transport_ref through, std::int64_t size_max,
                                             wire::value_format format)>;

}  // namespace sotto::detail
