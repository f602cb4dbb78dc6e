// The component `models` brings a CBLAS and zlib.
#include <cblas.h>
#include <zlib.h>

#include <cstdio>
#include <sotto/data/digits.hpp>

#include "everything.hpp"

int main() {
    const float x[] = {1.0f, 2.0f, 3.0f};
    const float y[] = {4.0f, 5.0f, 6.0f};
    const float dot = cblas_sdot(3, x, 1, y, 1);
    const auto digits = sotto::data::digits(10).size();
    std::printf("dot %g, zlib %s, %d digits\n", static_cast<double>(dot), zlibVersion(),
                static_cast<int>(digits));
    return dot > 31.0f && dot < 33.0f && digits == 10 ? 0 : 1;
}
