// The tests that every rank of a job of MPI runs. What is printed is each rank's own.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    if (provided < MPI_THREAD_SERIALIZED) {
        std::puts("skipped: this MPI does not provide MPI_THREAD_SERIALIZED");
        MPI_Finalize();
        return 0;
    }
    const int result = doctest::Context(argc, argv).run();
    MPI_Finalize();
    return result;
}
