#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/over_tcp.hpp"

using namespace sotto;

TEST_CASE("tcp: standard streams closed -> no socket gets their numbers") {
    const pid_t id = ::fork();
    REQUIRE(id >= 0);
    if (id == 0) {
        for (int stream = 0; stream <= 2; ++stream) ::close(stream);
        int found = 1;
        testing::run_over_tcp(2, {}, [&](tcp& transport) {
            transport.agree(true);
            if (transport.rank() != 0) return;
            found = 0;
            for (int stream = 0; stream <= 2; ++stream) {
                struct ::stat is {};
                if (::fstat(stream, &is) != 0 || !S_ISCHR(is.st_mode)) found |= 2 << stream;
            }
        });
        ::_exit(found);
    }
    int status = 0;
    REQUIRE(::waitpid(id, &status, 0) == id);
    CHECK(status == 0);
}
