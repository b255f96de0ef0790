/* The names that a box has asked for, and the addresses that stand for them inside of it. No system
 * call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NAMES_MAX = 4096, NAMES_SEED_BYTES = 16 };

/* Addresses in host byte order. The network is for benchmarks between devices (RFC 2544), so no
 * server of the internet has one of them. */
static const uint32_t NAMES_NETWORK = UINT32_C(0xc6120000);  /* 198.18.0.0/15 */
static const uint32_t NAMES_RESOLVER = UINT32_C(0xc6120001); /* 198.18.0.1: stands for no name */
static const uint32_t NAMES_FIRST = UINT32_C(0xc6120100);    /* 198.18.1.0, and upwards */

/* A name. It stays where it is until names_free(), and is never given another address. */
struct name {
	uint32_t v4;
	void *arg; /* the user's, NULL at first */
	char host[];
};

struct names;

/*
 * Make an empty table. @seed: random bytes, on which the places in the table depend, so that nobody
 * can choose names that collide.
 * Owns:    the caller frees it with names_free(), which does not look at `arg`.
 * Returns: NULL without memory.
 */
struct names *names_new(const unsigned char seed[NAMES_SEED_BYTES]);
void names_free(struct names *n);

/* names_row() returns the name @i, below names_count(), in the order in which they were added. */
size_t names_count(const struct names *n);
struct name *names_row(const struct names *n, size_t i);

/* Find a name, as rule_name() makes it; or by its address. Returns: NULL if it is not there. */
struct name *names_find(const struct names *n, const char *host);
struct name *names_at(const struct names *n, uint32_t v4);

/* Find a name, or add it with the next address. Returns: NULL if there are NAMES_MAX, or without
 * memory. */
struct name *names_add(struct names *n, const char *host);
