/* Addresses of the internet: their text, and which of them are public. Pure.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ADDRESS_TEXT_BYTES = 48 };

/* An address of IPv6, or of IPv4 in its v4-mapped form ::ffff:a.b.c.d, in network byte order. */
struct address {
	uint8_t bytes[16];
};

/* Read four decimal numbers without leading zeros ("127.0.0.1"), or an address of IPv6 without
 * brackets or scope. Other forms that some libraries read (0x7f.1, 017700000001, 2130706433) are no
 * addresses. Returns: false if @text is none. */
bool address_parse(struct address *out, const char *text);
void address_write(const struct address *a, char out[ADDRESS_TEXT_BYTES]);

struct address address_of_v4(uint32_t ip); /* @ip in host byte order */
/* Return whether @a is v4-mapped, and set *@ip to its IPv4 address in host byte order. */
bool address_is_v4(const struct address *a, uint32_t *ip);

/* Convert from and to AF_INET and AF_INET6. address_from() returns false for another family.
 * address_to() makes an AF_INET address of a v4-mapped one; it returns the length. */
bool address_from(struct address *out, const struct sockaddr *sa);
socklen_t address_to(const struct address *a, uint16_t port, struct sockaddr_storage *out);

/*
 * Say what kind of address @a is if it is not public: "loopback", "private", "link-local",
 * "multicast", "reserved", and so on. An address that carries an IPv4 address (v4-mapped,
 * v4-compatible, NAT64, 6to4, Teredo, ISATAP) is what the IPv4 address is, and tunnels are not
 * public. Returns: NULL if @a is public; else a word, static.
 * Source: the IANA special-purpose address registries (RFC 6890).
 */
const char *address_kind(const struct address *a);
