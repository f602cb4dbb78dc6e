// Exact selections by what others have made, built for this machine: the standard library's, and
// where their sources are, x86-simd-sort's and Highway's. Each is used in the ways that give
// indices, and the best of them counts. They need not put their indices in order.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>

#include <sys/mman.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "timing.hpp"

#if BENCH_X86_SIMD_SORT
#include "x86simdsort-static-incl.h"
#endif
#if BENCH_HIGHWAY
#define VQSORT_ONLY_STATIC 1
#include "hwy/contrib/sort/vqsort-inl.h"
namespace vq = hwy::HWY_NAMESPACE;
#endif

namespace {

/// Memory that grows to what the largest call needed, in large pages and touched beforehand.
template <class T>
class workspace {
public:
    T* of(std::size_t count) {
        if (count <= count_) return data_;
        if (data_ != nullptr) munmap(data_, count_ * sizeof(T));
        void* made = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (made == MAP_FAILED) throw std::runtime_error("no memory for a peer");
        madvise(made, count * sizeof(T), MADV_HUGEPAGE);
        std::memset(made, 1, count * sizeof(T));
        data_ = static_cast<T*>(made);
        count_ = count;
        return data_;
    }

private:
    T* data_ = nullptr;
    std::size_t count_ = 0;
};

workspace<float> magnitudes, chosen_values;
workspace<std::uint64_t> keys;
workspace<std::uint32_t> chosen;

/// The magnitudes, to be taken apart; a negative sign makes the smallest out of the largest.
[[maybe_unused]] float* copy_magnitudes(const float* x, std::size_t n, float sign) {
    float* to = magnitudes.of(n);
    for (std::size_t i = 0; i < n; ++i) to[i] = std::copysign(x[i], sign);
    return to;
}

/// Magnitude above, index turned round below: of equals the lower index is the larger key.
std::uint64_t* pack(const float* x, std::size_t n) {
    std::uint64_t* to = keys.of(n);
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t magnitude = std::bit_cast<std::uint32_t>(x[i]) & 0x7FFFFFFFu;
        to[i] = magnitude << 32 | (0xFFFFFFFFu - static_cast<std::uint32_t>(i));
    }
    return to;
}

/// Indices and values of the first k keys.
bench::answer unpack(const float* x, const std::uint64_t* from, std::size_t k) {
    std::uint32_t* indices = chosen.of(k);
    float* values = chosen_values.of(k);
    for (std::size_t i = 0; i < k; ++i) {
        indices[i] = 0xFFFFFFFFu - static_cast<std::uint32_t>(from[i]);
        values[i] = x[indices[i]];
    }
    return {indices, values, static_cast<std::int64_t>(k)};
}

/// Everything above the k-th largest magnitude, and of those that equal it the first: in order.
/// `largest` are the k largest, in any order; the least of them is the k-th.
[[maybe_unused]] bench::answer compact(const float* x, std::size_t n, const float* largest,
                                       std::size_t k) {
    const float least = *std::min_element(largest, largest + k);
    std::size_t equals = 0;
    for (std::size_t i = 0; i < k; ++i) equals += largest[i] == least ? 1 : 0;
    std::uint32_t* indices = chosen.of(k + 16);
    float* values = chosen_values.of(k + 16);
    std::size_t count = 0, i = 0;
#if defined(__AVX512F__)
    const __m512 limit = _mm512_set1_ps(least);
    __m512i places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (; i + 16 <= n && count < k; i += 16) {
        const __m512 value = _mm512_loadu_ps(x + i);
        const __m512 magnitude = _mm512_abs_ps(value);
        __mmask16 kept = _mm512_cmp_ps_mask(magnitude, limit, _CMP_GT_OQ);
        if (equals > 0) {
            unsigned same = _mm512_cmp_ps_mask(magnitude, limit, _CMP_EQ_OQ);
            for (; same != 0 && equals > 0; same &= same - 1, --equals)
                kept = static_cast<__mmask16>(kept | (same & (0u - same)));
        }
        if (kept != 0) {
            _mm512_storeu_si512(indices + count, _mm512_maskz_compress_epi32(kept, places));
            _mm512_storeu_ps(values + count, _mm512_maskz_compress_ps(kept, value));
            count += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(kept)));
        }
        places = _mm512_add_epi32(places, _mm512_set1_epi32(16));
    }
#endif
    for (; i < n && count < k; ++i) {
        const float magnitude = std::abs(x[i]);
        const bool equal = magnitude == least && equals > 0;
        if (!(magnitude > least) && !equal) continue;
        equals -= equal ? 1 : 0;
        indices[count] = static_cast<std::uint32_t>(i);
        values[count++] = x[i];
    }
    return {indices, values, static_cast<std::int64_t>(count)};
}

bench::answer std_nth_element(const float* x, std::size_t n, std::size_t k) {
    std::uint64_t* all = pack(x, n);
    std::nth_element(all, all + k - 1, all + n, std::greater<>{});
    return unpack(x, all, k);
}

bench::answer std_partial_sort(const float* x, std::size_t n, std::size_t k) {
    std::uint64_t* all = pack(x, n);
    std::partial_sort(all, all + k, all + n, std::greater<>{});
    return unpack(x, all, k);
}

#if BENCH_X86_SIMD_SORT
bench::answer simd_sort_floats(const float* x, std::size_t n, std::size_t k) {
    float* all = copy_magnitudes(x, n, 1.0f);
    x86simdsortStatic::qselect(all, k - 1, n, false, true);
    return compact(x, n, all, k);
}

bench::answer simd_sort_packed(const float* x, std::size_t n, std::size_t k) {
    std::uint64_t* all = pack(x, n);
    x86simdsortStatic::qselect(all, k - 1, n, false, true);
    return unpack(x, all, k);
}

bench::answer simd_sort_argselect(const float* x, std::size_t n, std::size_t k) {
    float* all = copy_magnitudes(x, n, -1.0f);
    std::uint64_t* order = keys.of(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = i;
    static_assert(sizeof(std::size_t) == sizeof(std::uint64_t));
    x86simdsortStatic::argselect(all, reinterpret_cast<std::size_t*>(order), k - 1, n);
    std::uint32_t* indices = chosen.of(k);
    float* values = chosen_values.of(k);
    for (std::size_t i = 0; i < k; ++i) {
        indices[i] = static_cast<std::uint32_t>(order[i]);
        values[i] = x[order[i]];
    }
    return {indices, values, static_cast<std::int64_t>(k)};
}
#endif

#if BENCH_HIGHWAY
bench::answer highway_floats(const float* x, std::size_t n, std::size_t k) {
    float* all = copy_magnitudes(x, n, 1.0f);
    vq::VQSelectStatic(all, n, k - 1, hwy::SortDescending());
    return compact(x, n, all, k);
}

bench::answer highway_packed(const float* x, std::size_t n, std::size_t k) {
    std::uint64_t* all = pack(x, n);
    vq::VQSelectStatic(all, n, k - 1, hwy::SortDescending());
    return unpack(x, all, k);
}

bench::answer highway_partial_sort(const float* x, std::size_t n, std::size_t k) {
    std::uint64_t* all = pack(x, n);
    vq::VQPartialSortStatic(all, n, k, hwy::SortDescending());
    return unpack(x, all, k);
}
#endif

struct peer {
    const char* name;
    bench::answer (*select)(const float* x, std::size_t n, std::size_t k);
};

constexpr peer peers[] = {
    {"std::nth_element", std_nth_element},
    {"std::partial_sort", std_partial_sort},
#if BENCH_X86_SIMD_SORT
    {"x86-simd-sort qselect float", simd_sort_floats},
    {"x86-simd-sort qselect packed", simd_sort_packed},
    {"x86-simd-sort argselect", simd_sort_argselect},
#endif
#if BENCH_HIGHWAY
    {"Highway VQSelect float", highway_floats},
    {"Highway VQSelect packed", highway_packed},
    {"Highway VQPartialSort packed", highway_partial_sort},
#endif
};

}  // namespace

extern "C" {

std::int64_t peer_count() {
    return std::size(peers);
}
const char* peer_name(std::int64_t which) {
    return peers[which].name;
}

/// Requires k > 0.
double peer_run(std::int64_t which, const float* x, std::int64_t n, std::int64_t k,
                bench::answer* found, std::int64_t repeats) {
    return bench::seconds_of(repeats, [&] {
        *found = peers[which].select(x, static_cast<std::size_t>(n), static_cast<std::size_t>(k));
    });
}

}  // extern "C"
