/* Names and documents of images, and what registries ask for. The first byte of the input chooses:
 * 'n' a name, 'm' an index or manifest, 'c' a configuration, 'w' a header WWW-Authenticate.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/json.h"
#include "image/manifest.h"
#include "image/pull/challenge.h"
#include "image/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char lower_hex[] = "0123456789abcdef";

static void check_digest(const char *digest)
{
	MUST(strlen(digest) == DIGEST_BYTES - 1);
	MUST(strspn(digest, lower_hex) == DIGEST_BYTES - 1);
}

static void check_name(const char *text)
{
	struct image_ref ref, again;
	struct err err = {0};
	char name[IMAGE_NAME_BYTES], other[IMAGE_NAME_BYTES];
	if (image_ref_parse(&ref, text, &err) < 0) {
		MUST(err.code == ERR_USAGE && err.hint[0]);
		return;
	}
	/* Parts of URLs, of which none may mean something else there. */
	MUST(ref.host[0] && !strpbrk(ref.host, "/?#@\\% \t\r\n"));
	MUST(ref.path[0] && ref.path[0] != '/' && !strstr(ref.path, "//"));
	MUST(strspn(ref.path, "abcdefghijklmnopqrstuvwxyz0123456789._-/") == strlen(ref.path));
	MUST(!strstr(ref.path, "..") && !strstr(ref.path, "/."));
	MUST((ref.tag[0] == '\0') == (ref.digest[0] != '\0'));
	MUST(!strpbrk(ref.tag, "/?#%: "));
	if (ref.digest[0])
		check_digest(ref.digest);
	image_ref_name(&ref, name);
	MUST(image_ref_parse(&again, name, &err) == 0);
	image_ref_name(&again, other);
	MUST(strcmp(name, other) == 0);
	MUST(image_ref_parse(&again, image_ref_short(name), &err) == 0);
	image_ref_name(&again, other);
	MUST(strcmp(name, other) == 0);
}

static void check_manifest(const char *text, size_t bytes)
{
	struct image_manifest m;
	struct err err = {0};
	int r = image_manifest_read(text, bytes, "amd64", &m, &err);
	if (r < 0) {
		MUST(err.code == ERR_DAMAGED || err.code == ERR_NOT_FOUND);
		return;
	}
	if (m.is_index) {
		check_digest(m.chosen.digest);
		return;
	}
	check_digest(m.config.digest);
	MUST(m.n_layers <= IMAGE_LAYERS_MAX);
	for (unsigned i = 0; i < m.n_layers; i++) {
		check_digest(m.layers[i].digest);
		MUST(m.layers[i].bytes <= INT64_MAX);
	}
}

static void check_config(const char *text, size_t bytes)
{
	static const char *const lists[] = {
		"env", "entrypoint", "cmd", "shell", "ports", "volumes"};
	static const char *const texts[] = {"workdir", "user", "stop_signal", "created"};
	struct err err = {0};
	cleanup_json json_t *got = image_config_read(text, bytes, "amd64", 1, &err);
	if (!got) {
		MUST(err.code == ERR_DAMAGED || err.code == ERR_NOT_FOUND);
		return;
	}
	const json_t *list, *one;
	size_t i, k;
	for (i = 0; i < ARRAY_LEN(lists); i++) {
		list = json_object_get(got, lists[i]);
		MUST(!list || json_is_array(list));
		json_array_foreach(json_unconst(list), k, one) MUST(json_is_string(one));
	}
	for (i = 0; i < ARRAY_LEN(texts); i++) {
		one = json_object_get(got, texts[i]);
		MUST(!one || json_is_string(one));
	}
	MUST(json_array_size(json_object_get(got, "diffs")) == 1);
	check_digest(json_string_value(json_array_get(json_object_get(got, "diffs"), 0)));
}

static void check_challenge(const char *text)
{
	struct challenge c;
	struct err err = {0};
	char url[2048];
	if (challenge_read(&c, text, &err) < 0) {
		MUST(err.code == ERR_AUTH || err.code == ERR_UNREACHABLE);
		return;
	}
	MUST(!c.is_bearer || c.realm[0]);
	for (int is_local = 0; is_local < 2; is_local++) {
		if (!c.is_bearer || challenge_url(&c, "a/b", is_local, url, sizeof url, &err) < 0)
			continue;
		MUST(strlen(url) < sizeof url);
		MUST(strncasecmp(url, "https://", 8) == 0 ||
			(is_local && strncasecmp(url, "http://", 7) == 0));
		MUST(strstr(url, "scope="));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (bytes == 0)
		return 0;
	char *text = fuzz_text(data + 1, bytes - 1);
	switch (data[0]) {
	case 'n':
		check_name(text);
		break;
	case 'm':
		check_manifest((const char *)data + 1, bytes - 1);
		break;
	case 'c':
		check_config((const char *)data + 1, bytes - 1);
		break;
	case 'w':
		check_challenge(text);
		break;
	default:
		break;
	}
	free(text);
	return 0;
}
