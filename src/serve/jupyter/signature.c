/*
 * Signatures, and how those that were seen are remembered.
 *
 * A message that is sent again would run again, so its signature is remembered. Only signatures
 * that are right are remembered, so nobody without the key can fill the memory.
 *
 * Two tables with open addressing hold them. New ones go into the first; when it is full, the
 * second is emptied, and the two change places. So the memory is bounded, and a signature is known
 * until at least SIGNATURE_SEEN others have come. A signature is random in all its bits, so its
 * first bytes are the hash.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/jupyter/signature.h"

#include "base/attr.h"
#include "base/digest.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { N_SLOTS = 2 * SIGNATURE_SEEN, N_TABLES = 2 };
_Static_assert(DIGEST_BYTES == SIGNATURE_BYTES + 1, "the text of a digest");

struct seen_table {
	unsigned char (*slots)[DIGEST_RAW_BYTES]; /* all zero: a free slot */
	size_t n;
};

struct signer {
	char *key; /* Owns: sodium_memzero() and free() */
	size_t key_bytes;
	struct seen_table tables[N_TABLES];
};

int signer_new(struct signer **out, const char *key, struct err *err)
{
	size_t bytes = strlen(key);
	if (bytes > SIGNATURE_KEY_BYTES)
		return err_set(
			err, ERR_LIMIT, "key: %zu bytes, limit %d", bytes, SIGNATURE_KEY_BYTES);
	struct signer *signer = calloc(1, sizeof *signer);
	if (signer && (signer->key = strdup(key))) {
		signer->key_bytes = bytes;
		for (int i = 0; i < N_TABLES; i++)
			signer->tables[i].slots = calloc(N_SLOTS, DIGEST_RAW_BYTES);
	}
	if (signer && signer->tables[0].slots && signer->tables[1].slots) {
		*out = signer;
		return 0;
	}
	signer_free(signer);
	return err_set(err, ERR_NO_MEMORY, "no memory for a key");
}

void signer_free(struct signer *signer)
{
	if (!signer)
		return;
	if (signer->key)
		sodium_memzero(signer->key, signer->key_bytes);
	free(signer->key);
	for (int i = 0; i < N_TABLES; i++)
		free(signer->tables[i].slots);
	free(signer);
}

static void digest(const struct signer *signer, const struct signed_part parts[SIGNED_PARTS],
	unsigned char raw[DIGEST_RAW_BYTES])
{
	crypto_auth_hmacsha256_state state;
	crypto_auth_hmacsha256_init(&state, (const unsigned char *)signer->key, signer->key_bytes);
	for (int i = 0; i < SIGNED_PARTS; i++)
		crypto_auth_hmacsha256_update(&state, parts[i].data, parts[i].bytes);
	crypto_auth_hmacsha256_final(&state, raw);
	sodium_memzero(&state, sizeof state);
}

void signer_sign(const struct signer *signer, const struct signed_part parts[SIGNED_PARTS],
	char out[SIGNATURE_BYTES + 1])
{
	unsigned char raw[DIGEST_RAW_BYTES];
	out[0] = '\0';
	if (signer->key_bytes == 0)
		return;
	digest(signer, parts, raw);
	digest_write(out, raw);
}

/* Return the slot of @raw, or the free slot where @raw belongs. The table has free slots. */
static unsigned char *find_slot(
	const struct seen_table *table, const unsigned char raw[DIGEST_RAW_BYTES])
{
	static const unsigned char none[DIGEST_RAW_BYTES];
	uint32_t at;
	memcpy(&at, raw, sizeof at);
	for (;; at++) {
		unsigned char *slot = table->slots[at % N_SLOTS];
		if (memcmp(slot, raw, DIGEST_RAW_BYTES) == 0 ||
			memcmp(slot, none, DIGEST_RAW_BYTES) == 0)
			return slot;
	}
}

static bool is_seen(const struct signer *signer, const unsigned char raw[DIGEST_RAW_BYTES])
{
	for (int i = 0; i < N_TABLES; i++)
		if (memcmp(find_slot(&signer->tables[i], raw), raw, DIGEST_RAW_BYTES) == 0)
			return true;
	return false;
}

static void remember(struct signer *signer, const unsigned char raw[DIGEST_RAW_BYTES])
{
	if (signer->tables[0].n == SIGNATURE_SEEN) {
		struct seen_table older = signer->tables[1];
		memset(older.slots, 0, (size_t)N_SLOTS * DIGEST_RAW_BYTES);
		older.n = 0;
		signer->tables[1] = signer->tables[0];
		signer->tables[0] = older;
	}
	memcpy(find_slot(&signer->tables[0], raw), raw, DIGEST_RAW_BYTES);
	signer->tables[0].n++;
}

int signer_check(struct signer *signer, const struct signed_part parts[SIGNED_PARTS],
	const struct signed_part *text, struct err *err)
{
	unsigned char raw[DIGEST_RAW_BYTES], given[DIGEST_RAW_BYTES];
	char hex[SIGNATURE_BYTES + 1];
	if (signer->key_bytes == 0)
		return 0;
	if (text->bytes != SIGNATURE_BYTES)
		return err_set(err, ERR_AUTH, "a message without a signature");
	memcpy(hex, text->data, SIGNATURE_BYTES);
	hex[SIGNATURE_BYTES] = '\0';
	digest(signer, parts, raw);
	if (digest_read(given, hex) < 0 || sodium_memcmp(given, raw, sizeof raw) != 0)
		return err_set(err, ERR_AUTH, "a message with a wrong signature");
	if (is_seen(signer, raw))
		return err_set(err, ERR_AUTH, "a message that came before");
	remember(signer, raw);
	return 0;
}
