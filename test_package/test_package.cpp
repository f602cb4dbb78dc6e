#include <cstdio>

#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/version.hpp"
#ifdef WITH_models
#include "sotto/models/mlp.hpp"
#endif
#ifdef WITH_tls
#include "sotto/transports/tcp_tls.hpp"
#endif
#ifdef WITH_mpi
#include "sotto/transports/mpi.hpp"
#endif

int main(int words, char**) {
    sotto::layout layout;
    layout.add("weight", {10, 784}).add("bias", {10}, sotto::tensor_kind::bias);
    const float first = sotto::random_stream(1).uniform();
    std::printf("sotto %d.%d.%d: %lld parameters, first random number %g\n", SOTTO_VERSION_MAJOR,
                SOTTO_VERSION_MINOR, SOTTO_VERSION_PATCH, static_cast<long long>(layout.size()),
                static_cast<double>(first));
#ifdef WITH_models
    if (sotto::models::mlp{784, 10}.layout().size() != layout.size()) return 1;
#endif
#ifdef WITH_tls
    if (!sotto::pre_shared_key::from_text("a secret of at least thirty-two bytes", "here")) return 1;
#endif
#ifdef WITH_mpi
    if (words > 1) sotto::mpi::join();  // linked, and called by who asks for it
#endif
    return words > 0 && layout.size() == 7850 && first >= 0.0f && first < 1.0f ? 0 : 1;
}
