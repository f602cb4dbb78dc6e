#include "sotto/kernels/detail/nn/shifted_planes.hpp"
#include "sotto/kernels/instruction_set.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/generators.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::instruction_set;

namespace {

using floats = std::vector<float>;

std::size_t at(std::int64_t i) {
    return static_cast<std::size_t>(i);
}

// What one test multiplies: `images` planes of `plane` floats, from which `octets` runs of eight
// are read at `depth` shifts.
struct problem {
    std::int64_t depth, octets, rows, images;
    bool touching;
    std::int64_t plane = 0;
    std::vector<std::int32_t> shifts{}, places{};
    floats planes{}, weights{}, start{}, results{};

    problem(std::int64_t d, std::int64_t o, std::int64_t r, std::int64_t n, bool touch)
        : depth(d), octets(o), rows(r), images(n), touching(touch) {
        sotto::random_stream random{static_cast<std::uint64_t>(d * 1000 + o * 10 + r)};
        for (std::int64_t k = 0; k < depth; ++k)
            shifts.push_back(static_cast<std::int32_t>(random.below(50)));
        for (std::int64_t g = 0; g < octets; ++g)
            places.push_back(touching && g % 2 == 1 ? places.back() + 8
                                                    : static_cast<std::int32_t>(9 * g));
        plane = 50 + 9 * octets + 8;
        planes = sotto::testing::uniform_values(images * plane, 1);
        weights = sotto::testing::uniform_values(rows * depth, 2);
        start = sotto::testing::uniform_values(sotto::detail::kernels::packed_size(rows, 1), 3);
        results = sotto::testing::uniform_values(images * rows * octets * 8, 4);
    }

    sotto::detail::kernels::shifted_planes view(std::int64_t image) const {
        return {
            planes.data() + image * plane, shifts.data(), depth, places.data(), octets, touching};
    }
    double x(std::int64_t image, std::int64_t k, std::int64_t column) const {
        return planes[at(image * plane + shifts[at(k)] + places[at(column / 8)] + column % 8)];
    }
    floats packed() const {
        floats to(at(sotto::detail::kernels::packed_size(rows, depth)), 0.0f);
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t k = 0; k < depth; ++k)
                to[at((r / sotto::detail::kernels::packed_rows * depth + k) *
                          sotto::detail::kernels::packed_rows +
                      r % sotto::detail::kernels::packed_rows)] = weights[at(r * depth + k)];
        return to;
    }
};

// The kernels as they are compiled for each set that this processor has.
template <class Kernel, class... Arguments>
void run_as(instruction_set set, const Arguments&... arguments) {
    if (set == instruction_set::avx512)
        sotto::detail::kernels::run_avx512<Kernel>(arguments...);
    else if (set == instruction_set::avx2)
        sotto::detail::kernels::run_avx2<Kernel>(arguments...);
    else
        Kernel::template run<instruction_set::baseline>(arguments...);
}

void check_problem(const problem& p, instruction_set set) {
    CAPTURE(static_cast<int>(set));
    CAPTURE(p.depth);
    CAPTURE(p.octets);
    CAPTURE(p.rows);
    CAPTURE(p.touching);
    const std::int64_t columns = p.octets * 8;
    const floats packed = p.packed();
    floats out(at(p.rows * columns + 1), 42.0f);
    run_as<sotto::detail::kernels::multiply_shifted_kernel>(
        set, p.view(0), static_cast<const float*>(packed.data()),
        static_cast<const float*>(p.start.data()), out.data(), p.rows);
    CHECK(out.back() == 42.0f);
    bool close = true;
    for (std::int64_t r = 0; r < p.rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c) {
            double sum = p.start[at(r)];
            for (std::int64_t k = 0; k < p.depth; ++k)
                sum += double{p.weights[at(r * p.depth + k)]} * p.x(0, k, c);
            close = close && std::abs(out[at(r * columns + c)] - sum) < 1e-5;
        }
    CHECK(close);

    floats sums(at(p.rows * p.depth + 1), 1.0f);
    run_as<sotto::detail::kernels::correlate_shifted_kernel>(
        set, p.view(0), sotto::detail::kernels::image_series{p.images, p.plane, p.rows * columns},
        static_cast<const float*>(p.results.data()), p.rows, sums.data());
    CHECK(sums.back() == 1.0f);
    close = true;
    for (std::int64_t r = 0; r < p.rows; ++r)
        for (std::int64_t k = 0; k < p.depth; ++k) {
            double sum = 1.0;
            for (std::int64_t n = 0; n < p.images; ++n)
                for (std::int64_t c = 0; c < columns; ++c)
                    sum += double{p.results[at((n * p.rows + r) * columns + c)]} * p.x(n, k, c);
            close = close && std::abs(sums[at(r * p.depth + k)] - sum) < 1e-4;
        }
    CHECK(close);
}

}  // namespace

TEST_CASE("products with shifted planes equal the plain loops, for every set of instructions") {
    const instruction_set best = kernels::best_instruction_set();
    for (const auto set :
         {instruction_set::baseline, instruction_set::avx2, instruction_set::avx512}) {
        if (set > best) continue;
        for (const std::int64_t depth : {0, 1, 3, 5, 6, 7, 27})
            for (std::int64_t octets = 1; octets <= 13; ++octets)
                for (const std::int64_t rows : {1, 2, 4, 7, 8, 9, 16})
                    for (const bool touching : {false, true}) {
                        if (touching && octets % 2 == 1) continue;
                        check_problem({depth, octets, rows, 1 + depth % 3, touching}, set);
                    }
    }
}
