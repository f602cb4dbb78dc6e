#include "sotto/launch/detail/interfaces.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace sotto;
using namespace sotto::launch;
using namespace sotto::detail::launch;

namespace {

const std::vector<sotto::detail::launch::network_interface> some{{"lo", "127.0.0.1"},
                                                                 {"eth0", "192.168.1.7"},
                                                                 {"eth1", "10.1.2.3"},
                                                                 {"eth10", "10.200.0.9"},
                                                                 {"ib0", "fd00::12:5"}};

}  // namespace

TEST_CASE("an interface is chosen by name, address, network, or what names begin with") {
    CHECK(address_of_interface("eth1", some) == "10.1.2.3");
    CHECK(address_of_interface("10.200.0.9", some) == "10.200.0.9");
    CHECK(address_of_interface("10.1.0.0/16", some) == "10.1.2.3");
    CHECK(address_of_interface("10.0.0.0/8", some) == "10.1.2.3");
    CHECK(address_of_interface("10.200.0.8/31", some) == "10.200.0.9");
    CHECK(address_of_interface("192.168.1.7/32", some) == "192.168.1.7");
    CHECK(address_of_interface("fd00::/16", some) == "fd00::12:5");
    CHECK(address_of_interface("eth", some) == "192.168.1.7");
    CHECK(address_of_interface("0.0.0.0/0", some) == "127.0.0.1");
}

TEST_CASE("address_of_interface: a link-local address -> with its interface") {
    const std::vector<sotto::detail::launch::network_interface> links{
        {"lo", "::1"}, {"eth0", "fe80::1%eth0"}, {"eth1", "fe80::2%eth1"}};
    CHECK(address_of_interface("eth1", links) == "fe80::2%eth1");
    CHECK(address_of_interface("fe80::2", links) == "fe80::2%eth1");
    CHECK(address_of_interface("[fe80::2%eth1]", links) == "fe80::2%eth1");
    CHECK(address_of_interface("fe80::/10", links) == "fe80::1%eth0");
    CHECK(address_of_interface("[::1]", links) == "::1");
    for (const sotto::detail::launch::network_interface& i : interfaces_of_this_machine())
        CHECK(i.address.starts_with("fe80:") == i.address.ends_with("%" + i.name));
}

TEST_CASE("a choice that means nothing is refused with a list of what there is") {
    CHECK_THROWS_WITH_AS((void)address_of_interface("wlan", some),
                         "launch: no interface is 'wlan'; there are lo (127.0.0.1), eth0 "
                         "(192.168.1.7), eth1 (10.1.2.3), eth10 (10.200.0.9), ib0 (fd00::12:5)",
                         const invalid_option&);
    for (const char* const bad :
         {"172.16.0.0/12", "10.1.0.0/33", "10.1.0.0/", "10.1/16", "10.1.0.0/1x", "fd00::/129"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS((void)address_of_interface(bad, some), invalid_option);
    }
}

TEST_CASE("this machine has a loopback interface") {
    const auto all = interfaces_of_this_machine();
    CHECK(
        std::any_of(all.begin(), all.end(), [](const sotto::detail::launch::network_interface& i) {
            return i.address == "127.0.0.1";
        }));
}
