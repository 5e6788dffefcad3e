/* environment_address: numbers, names and interfaces. See the header. */
#include "common/environment_address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LIST_BYTES = 256 };

static void put(char address[ENVIRONMENT_ADDRESS_BYTES], struct in_addr number)
{
    inet_ntop(AF_INET, &number, address, ENVIRONMENT_ADDRESS_BYTES);
}

bool environment_address_is_loopback(const char *address)
{
    struct in_addr number;
    return inet_pton(AF_INET, address, &number) == 1 && ntohl(number.s_addr) >> 24 == 127;
}

/* torchrun --standalone announces this machine's own name. */
static int look_up(char address[ENVIRONMENT_ADDRESS_BYTES],
                   const struct environment_setting *setting, bool several, struct fail *fail)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    int error = getaddrinfo(setting->text, NULL, &hints, &found);
    if (error != 0)
        return fail_set(fail, -EINVAL,
                        "%s, which does not resolve to an IPv4 address (%s): give the number "
                        "itself, such as 127.0.0.1",
                        setting->who, gai_strerror(error));
    put(address, ((const struct sockaddr_in *)(const void *)found->ai_addr)->sin_addr);
    freeaddrinfo(found);
    /* Many systems give their own name a loopback address in /etc/hosts. */
    if (several && environment_address_is_loopback(address))
        return fail_set(fail, -EINVAL,
                        "%s, which on this machine resolves to %s, where no other machine finds "
                        "it: give the number that the others reach it at",
                        setting->who, address);
    return 0;
}

/* Without a letter it is no name, and the resolver would make an address of "29500". */
static bool may_be_a_name(const char *text)
{
    bool letter = false;
    for (const char *c = text; *c; c++)
        letter |= isalpha((unsigned char)*c) != 0;
    return letter && !strpbrk(text, ":/ ");
}

int environment_address_of_host(char address[ENVIRONMENT_ADDRESS_BYTES],
                                const struct environment_setting *setting, bool several,
                                struct fail *fail)
{
    /* Never looked up: "localhost" may be ::1 on machines that have no IPv6. */
    const char *text = strcmp(setting->text, "localhost") == 0 ? "127.0.0.1" : setting->text;
    struct in_addr number;
    if (inet_pton(AF_INET, text, &number) == 1) {
        put(address, number);
        return 0;
    }
    if (may_be_a_name(text))
        return look_up(address, setting, several, fail);
    return fail_set(fail, -EINVAL,
                    "%s, but must be an IPv4 address such as 127.0.0.1, or a host name; the port "
                    "is a setting of its own, MASTER_PORT or --master-port",
                    setting->who);
}

/* Whether a socket may have it; other machines' addresses are refused by the system. */
static int try_to_bind(struct in_addr number)
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr = number};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int error = fd < 0 || bind(fd, (struct sockaddr *)&where, sizeof where) < 0 ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return error;
}

static int check_number(struct in_addr number, const struct environment_setting *setting,
                        struct fail *fail)
{
    uint32_t first = ntohl(number.s_addr) >> 24; // 0: any address; from 224 on: many at once
    int error = first > 0 && first < 224 ? try_to_bind(number) : -EADDRNOTAVAIL;
    if (error == -EADDRNOTAVAIL)
        return fail_set(fail, -EINVAL,
                        "%s, but must be an address of this machine, or one of its interfaces",
                        setting->who);
    if (error < 0)
        return fail_set(fail, -EINVAL, "%s, which cannot be bound: %s", setting->who,
                        strerror(-error));
    return 0;
}

/* "lo, eth0": those with an IPv4 address, for one who has mistyped his. */
static void list_interfaces(char list[LIST_BYTES], const struct ifaddrs *all)
{
    size_t used = 0;
    list[0] = '\0';
    for (const struct ifaddrs *i = all; i && used < LIST_BYTES; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET)
            used += (size_t)snprintf(list + used, LIST_BYTES - used, "%s%s", used > 0 ? ", " : "",
                                     i->ifa_name);
}

static int find_interface(struct in_addr *number, const struct environment_setting *setting,
                          struct fail *fail)
{
    char list[LIST_BYTES];
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) < 0)
        return fail_set(fail, -EINVAL, "%s, but this machine's interfaces cannot be listed: %s",
                        setting->who, strerror(errno));
    bool found = false;
    for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
        found = i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
                strcmp(i->ifa_name, setting->text) == 0;
        if (found)
            *number = ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr;
    }
    list_interfaces(list, all);
    freeifaddrs(all);
    return found ? 0
                 : fail_set(fail, -EINVAL,
                            "%s, but must be an IPv4 address of this machine, or an interface "
                            "that has one: %s",
                            setting->who, list);
}

int environment_address_to_bind(char address[ENVIRONMENT_ADDRESS_BYTES],
                                const struct environment_setting *setting, struct fail *fail)
{
    struct in_addr number;
    bool numeric = inet_pton(AF_INET, setting->text, &number) == 1;
    int error =
        numeric ? check_number(number, setting, fail) : find_interface(&number, setting, fail);
    if (error == 0)
        put(address, number);
    return error;
}
