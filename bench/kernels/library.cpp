// sotto's selections, as kernels.py calls them: built without flags for any processor, as users
// build. Answers live until the next call.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "sotto/kernels/dgc_step.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/update/momentum.hpp"
#include "sotto/kernels/select_top_k.hpp"
#include "sotto/kernels/select_top_k_of_many.hpp"
#include "sotto/kernels/team_top_k.hpp"
#include "sotto/kernels/thread_team.hpp"
#include "sotto/wire/sparse_block.hpp"
#include "timing.hpp"

namespace kernels = sotto::kernels;

namespace {

kernels::top_k_scratch scratch;

std::span<const float> view(const float* x, std::int64_t n) {
    return {x, static_cast<std::size_t>(n)};
}
std::span<float> view(float* x, std::int64_t n) {
    return {x, static_cast<std::size_t>(n)};
}

bench::answer told(const kernels::selection& found) {
    return {found.indices.data(), found.values.data(),
            static_cast<std::int64_t>(found.indices.size())};
}

/// Calls by which a threshold is learnt before those that carry it over count.
constexpr std::int64_t learning = 3;

sotto::detail::kernels::dgc_buffers in_place(const float* g, float* u, float* v, std::int64_t n) {
    return {view(g, n), view(u, n), view(v, n), view(u, n), view(v, n)};
}

/// What dgc_step does, one thing after another.
kernels::selection unfused_step(const sotto::detail::kernels::momentum_step& step,
                                const sotto::detail::kernels::dgc_buffers& to, std::int64_t k,
                                bool mask) {
    sotto::detail::kernels::accumulate_velocity(step, to.gradient, to.velocity, to.accumulated,
                                                to.next_velocity, to.next_accumulated);
    const auto found = kernels::select_top_k(to.next_accumulated, k, scratch);
    for (const std::uint32_t i : found.indices) to.next_accumulated[i] = 0.0f;
    if (mask)
        for (const std::uint32_t i : found.indices) to.next_velocity[i] = 0.0f;
    return found;
}

}  // namespace

extern "C" {

const char* sotto_error() {
    return bench::last_error.c_str();
}

const char* sotto_instruction_set() {
    return sotto::detail::kernels::name_of(kernels::best_instruction_set()).data();
}

double sotto_top_k(const float* x, std::int64_t n, std::int64_t k, bench::answer* found,
                   std::int64_t repeats) {
    return bench::seconds_of(repeats,
                             [&] { *found = told(kernels::select_top_k(view(x, n), k, scratch)); });
}

/// With the threshold carried over from three calls before: of the n values of `last` that begin
/// at 0, at `shift` and at 2 `shift`.
double sotto_top_k_carried(const float* last, std::int64_t shift, const float* x, std::int64_t n,
                           std::int64_t k, bench::answer* found, std::int64_t repeats) {
    sotto::detail::kernels::carried_threshold learned, carried;
    const double failed = bench::seconds_of(learning, [&] {
        kernels::select_top_k(view(last, n), k, scratch, learned);
        last += shift;
    });
    if (failed != failed) return failed;
    return bench::seconds_of(
        repeats, [&] { carried = learned; },
        [&] { *found = told(kernels::select_top_k(view(x, n), k, scratch, carried)); });
}

double sotto_team_top_k(std::int64_t threads, const float* x, std::int64_t n, std::int64_t k,
                        bench::answer* found, std::int64_t repeats) {
    static kernels::team_top_k_scratch scratch;
    static std::unique_ptr<kernels::thread_team> team;
    return bench::seconds_of(
        repeats,
        [&] {
            if (team == nullptr || team->size() != threads)
                team = std::make_unique<kernels::thread_team>(static_cast<int>(threads));
        },
        [&] { *found = told(kernels::select_top_k(view(x, n), k, scratch, *team)); });
}

/// `ways`: 0 of each tensor its own k, in one call; 1 the ks of the whole model; 2 of each its own
/// k, a call for each.
double sotto_top_k_of_many(std::int64_t ways, const float* const* tensors,
                           const std::int64_t* sizes, const std::int64_t* ks, std::int64_t count,
                           bench::answer* answers, std::int64_t repeats) {
    static kernels::many_top_k_scratch scratch;
    static std::vector<kernels::top_k_scratch> own;
    std::vector<std::span<const float>> all;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        all.push_back(view(tensors[i], sizes[i]));
        sum += ks[i];
    }
    own.resize(all.size());
    const std::span<const std::int64_t> wanted(ks, all.size());
    return bench::seconds_of(repeats, [&] {
        if (ways == 2) {
            for (std::size_t i = 0; i < all.size(); ++i)
                answers[i] = told(kernels::select_top_k(all[i], wanted[i], own[i]));
            return;
        }
        const auto found = ways == 0 ? kernels::select_top_k_of_each(all, wanted, scratch)
                                     : kernels::select_top_k_of_all(all, sum, scratch);
        for (std::size_t i = 0; i < found.size(); ++i) answers[i] = told(found[i]);
    });
}

/// Fused, or one thing after another. Before each repeat u and v are made from theirs of before,
/// which does not count.
double sotto_dgc_step(std::int64_t fused, const float* g, float* u, float* v, const float* before_u,
                      const float* before_v, std::int64_t n, std::int64_t k, std::int64_t masked,
                      std::int64_t nesterov, bench::answer* found, std::int64_t repeats) {
    const sotto::detail::kernels::momentum_step step{.momentum = 0.9f, .nesterov = nesterov != 0};
    const bool mask = masked != 0;
    const auto buffers = in_place(g, u, v, n);
    const auto prepare = [&] {
        std::memcpy(u, before_u, static_cast<std::size_t>(n) * sizeof(float));
        std::memcpy(v, before_v, static_cast<std::size_t>(n) * sizeof(float));
    };
    return bench::seconds_of(repeats, prepare, [&] {
        *found = told(fused != 0 ? kernels::dgc_step(step, buffers, k, mask, scratch)
                                 : unfused_step(step, buffers, k, mask));
    });
}

/// The next steps of a training, each with the threshold of the one before; a new training, if
/// `steps` is 0, has made three steps before the first that counts. A step's g is `gradients` from
/// another place on, round its end, which does not count.
double sotto_dgc_training(std::int64_t* steps, const float* gradients, float* g, float* u, float* v,
                          std::int64_t n, std::int64_t k, std::int64_t masked,
                          std::int64_t nesterov, bench::answer* found, std::int64_t repeats) {
    static sotto::detail::kernels::carried_threshold carried;
    const sotto::detail::kernels::momentum_step step{.momentum = 0.9f, .nesterov = nesterov != 0};
    const auto buffers = in_place(g, u, v, n);
    const auto prepare = [&] {
        // Far from the places of the steps before: the golden section.
        const auto part = static_cast<std::int64_t>(0.618 * static_cast<double>(n));
        std::rotate_copy(gradients, gradients + *steps * part % n, gradients + n, g);
        ++*steps;
    };
    const auto run = [&] {
        *found = told(kernels::dgc_step(step, buffers, k, masked != 0, scratch, carried));
    };
    if (*steps == 0) {
        carried = {};
        const double failed = bench::seconds_of(learning, prepare, run);
        if (failed != failed) return failed;
    }
    return bench::seconds_of(repeats, prepare, run);
}

/// Encodes a message of k entries of n and decodes it again; returns the seconds of both together,
/// and by `found` what was decoded, in front of `room` for k entries of each. The messages, of one
/// size, take turns, beginning with number `turn`: what a processor learns of one's branches helps
/// little with the next. As after a selection, each is in the caches.
double sotto_codec(std::int64_t n, const bench::answer* messages, std::int64_t count,
                   std::int64_t turn, std::uint32_t* room_for_indices, float* room_for_values,
                   std::int64_t* bytes, bench::answer* found, std::int64_t repeats) {
    static sotto::bytes out;
    static std::vector<std::uint32_t> indices;
    static std::vector<float> values;
    const auto k = static_cast<std::size_t>(messages->count);
    constexpr auto format = sotto::wire::value_format::fp32;
    out.reserve(static_cast<std::size_t>(
        sotto::wire::encoded_sparse_bytes_max(n, messages->count, format)));
    const auto prepare = [&] {
        const bench::answer& message = messages[turn++ % count];
        indices.assign(message.indices, message.indices + k);
        values.assign(message.values, message.values + k);
    };
    return bench::seconds_of(repeats, prepare, [&] {
        out.clear();
        sotto::wire::encode_sparse(n, std::span<const std::uint32_t>(indices),
                                   std::span<const float>(values), format, out);
        const auto read = sotto::wire::decode_sparse(out, n, std::span(room_for_indices, k),
                                                     std::span(room_for_values, k));
        *bytes = static_cast<std::int64_t>(out.size());
        *found = {};
        if (read)
            *found = {read->indices.data(), read->values.data(),
                      static_cast<std::int64_t>(read->indices.size())};
    });
}

/// Where a selection of k of n looks before it reads all: the starts of lines of 16 values. Returns
/// how many there are, and fills in the first `room`.
std::int64_t sotto_sample_places(std::int64_t n, std::int64_t* places, std::int64_t room) {
    namespace detail = sotto::detail::kernels;
    const auto size = static_cast<std::size_t>(n);
    // As detail::threshold_sampler counts them.
    const auto sampled = static_cast<double>(detail::threshold_sampler::sample_size(size));
    const double due = sampled / static_cast<double>(n) * static_cast<double>(n);
    const std::size_t lines = std::min(static_cast<std::size_t>(due), size) / detail::sample_line;
    for (std::size_t line = 0; line < lines && line < static_cast<std::size_t>(room); ++line)
        places[line] = static_cast<std::int64_t>(detail::sample_place(size, lines, line));
    return static_cast<std::int64_t>(lines);
}

}  // extern "C"
