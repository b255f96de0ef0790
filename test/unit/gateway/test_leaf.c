/* Certificates of names: what they say, who accepts them, how long they are kept.
 * SPDX-License-Identifier: Apache-2.0 */
#include "gateway/process/leaf.h"

#include "gateway/authority.h"
#include "gateway/process/lock.h"
#include "gateway/rule/rule.h"
#include "t.h"
#include "tree.h"
#include "unit/gateway/verifier.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HOUR_S = 60 * 60, DAY_S = 24 * HOUR_S, LINES_BYTES = 4096 };

/* The clock of leaf.c, seconds away from that of the host. */
static time_t shift_s;
time_t __real_time(time_t *at);
time_t __wrap_time(time_t *at);
time_t __wrap_time(time_t *at)
{
	time_t now = __real_time(NULL) + shift_s;
	if (at)
		*at = now;
	return now;
}

/* An authority, what it signs, and what its certificate says. */
struct bench {
	struct verifier v;
	struct authority a;
	struct gnutls gnutls;
	struct leaves *l;
	gnutls_x509_crt_t crt;
};

static void bench_open(struct bench *b)
{
	struct err err = {0};
	*b = (struct bench){.v = verifier_new()};
	shift_s = 0;
	CHECK_INT(authority_make(&b->a, &err), 0);
	CHECK_INT(gnutls_load(&b->gnutls, &err), 0);
	CHECK_INT(leaves_new(&b->l, &b->gnutls, b->a.certificate, b->a.key, &err), 0);
	CHECK_STR(err.msg, "");
	b->crt = verifier_import(
		&b->v, b->a.certificate, strlen(b->a.certificate), GNUTLS_X509_FMT_PEM);
}

static void bench_done(struct bench *b)
{
	leaves_free(b->l);
	b->v.x509_crt_deinit(b->crt);
}
#define BENCH cleanup(bench_done) struct bench

static struct leaf *get(struct bench *b, const char *host)
{
	struct leaf *leaf = NULL;
	CHECK_INT(leaves_get(b->l, host, &leaf), 0);
	return leaf;
}

static gnutls_x509_crt_t crt_of(const struct bench *b, const struct leaf *leaf)
{
	const gnutls_datum_t *der = &leaf->certificate.cert;
	return verifier_import(&b->v, der->data, der->size, GNUTLS_X509_FMT_DER);
}

static struct said read_leaf(struct bench *b, const char *host)
{
	struct leaf *leaf = get(b, host);
	gnutls_x509_crt_t crt = crt_of(b, leaf);
	struct said s = verifier_read(&b->v, crt);
	b->v.x509_crt_deinit(crt);
	leaf_let_go(b->l, leaf);
	return s;
}

/* ---- the process that signs ---- */

static int sign_when_locked(void *arg)
{
	const struct authority *a = arg;
	size_t max_fds;
	struct gnutls g;
	struct leaves *l;
	struct leaf *leaf;
	struct err err = {0};
	if (gateway_lock(NULL, &max_fds) < 0)
		return 1;
	if (gnutls_load(&g, &err) < 0 || leaves_new(&l, &g, a->certificate, a->key, &err) < 0)
		return 2;
	if (leaves_get(l, "a.example", &leaf) < 0)
		return 3;
	leaf_let_go(l, leaf);
	leaves_free(l);
	return 0;
}

static bool is_loaded(void)
{
	return dlopen("libgnutls.so.30", RTLD_NOW | RTLD_NOLOAD) != NULL;
}

/* Run @run in a child; it returns the exit status. */
static void check_child(int (*run)(void *arg), void *arg)
{
	int status = -1;
	(void)fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		_exit(run(arg));
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 0);
}

static int send_authority(void *arg)
{
	const int *ends = arg;
	struct authority a;
	struct err err = {0};
	return authority_make(&a, &err) < 0 || write(ends[1], &a, sizeof a) != (ssize_t)sizeof a;
}

static int run_alone(void *arg)
{
	/* its lines are not those of this process */
	if (!freopen("/dev/null", "w", stdout))
		return 1;
	(void)execl("/proc/self/exe", "test-leaf", (const char *)arg, NULL);
	return 1;
}

/* In a process that has not loaded GnuTLS before. */
TEST(the_gateway_signs_after_it_has_locked_itself)
{
	static char name[] = "the_gateway_signs_after_it_has_locked_itself";
	int ends[2];
	struct authority a = {0};
	if (is_loaded()) {
		check_child(run_alone, name);
		return;
	}
	CHECK_INT(pipe(ends), 0);
	check_child(send_authority, ends);
	CHECK_INT(read(ends[0], &a, sizeof a), sizeof a);
	(void)close(ends[0]);
	(void)close(ends[1]);
	CHECK(!is_loaded());
	check_child(sign_when_locked, &a);
}

/* ---- what certificates say ---- */

TEST(a_leaf_says_what_it_is_for)
{
	BENCH b;
	bench_open(&b);
	struct said s = read_leaf(&b, "api.example"), root = verifier_read(&b.v, b.crt);
	time_t now = time(NULL);
	CHECK_STR(s.name, "api.example");
	CHECK_INT(s.is_authority, 0);
	CHECK_INT(s.usage, GNUTLS_KEY_DIGITAL_SIGNATURE);
	CHECK_STR(s.purpose, GNUTLS_KP_TLS_WWW_SERVER);
	CHECK_INT(s.key_algorithm, GNUTLS_PK_ECDSA);
	CHECK_INT(s.key_bits, 256);
	CHECK_INT(s.serial_bytes, 16);
	CHECK_INT(s.own_id_bytes, VERIFIER_ID_BYTES);
	CHECK_INT(s.issuer_id_bytes, VERIFIER_ID_BYTES);
	CHECK(memcmp(s.issuer_id, root.own_id, VERIFIER_ID_BYTES) == 0);
	CHECK(memcmp(s.own_id, root.own_id, VERIFIER_ID_BYTES) != 0);
	CHECK(s.from <= now - HOUR_S && s.from > now - HOUR_S - 100);
	CHECK(s.until <= now + 30 * DAY_S && s.until > now + 30 * DAY_S - 100);
}

/* 253 bytes, in labels of 63 and one of 61. */
static void long_name(char out[RULE_HOST_BYTES])
{
	memset(out, 'a', RULE_HOST_BYTES - 1);
	out[63] = out[127] = out[191] = '.';
	out[RULE_HOST_BYTES - 1] = '\0';
}

TEST(a_leaf_is_valid_for_its_name_only)
{
	BENCH b;
	char name[RULE_HOST_BYTES];
	long_name(name);
	const char *hosts[] = {"api.example", "a", "a_b._c.example", "xn--bcher-kva.example", name};
	bench_open(&b);
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		unsigned status = ~0U;
		struct leaf *leaf = get(&b, hosts[i]);
		gnutls_x509_crt_t crt = crt_of(&b, leaf);
		struct said s = verifier_read(&b.v, crt);
		CHECK_INT(strncmp(s.name, hosts[i], 64), 0);
		CHECK_INT(b.v.x509_crt_list_verify(&crt, 1, &b.crt, 1, NULL, 0, 0, &status), 0);
		CHECK_INT(status, 0);
		for (size_t j = 0; j < ARRAY_LEN(hosts); j++)
			CHECK_INT(b.v.x509_crt_check_hostname(crt, hosts[j]) != 0, i == j);
		CHECK(!b.v.x509_crt_check_hostname(crt, "x.api.example"));
		b.v.x509_crt_deinit(crt);
		leaf_let_go(b.l, leaf);
	}
}

TEST(what_is_no_name_of_a_host_is_refused)
{
	BENCH b;
	struct leaf *leaf = NULL;
	char name[RULE_HOST_BYTES + 1];
	memset(name, 'a', sizeof name);
	name[RULE_HOST_BYTES] = '\0';
	bench_open(&b);
	CHECK_INT(leaves_get(b.l, name, &leaf), GNUTLS_E_INVALID_REQUEST);
	CHECK_INT(leaves_get(b.l, "", &leaf), GNUTLS_E_INVALID_REQUEST);
	CHECK(!leaf);
}

/* ---- the authority ---- */

static void check_no_authority(const char *certificate, const char *key, const char *why)
{
	struct err err = {0};
	struct gnutls g;
	struct leaves *l = NULL;
	CHECK_INT(gnutls_load(&g, &err), 0);
	CHECK(leaves_new(&l, &g, certificate, key, &err) < 0);
	CHECK_INT(err.code, ERR_PROTOCOL);
	CHECK_HAS(err.msg, why);
	CHECK(!l);
}

/* A certificate in PEM, made of DER. */
static const char *pem_of(const gnutls_datum_t *der)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	static char text[4096];
	char *at = stpcpy(text, "-----BEGIN CERTIFICATE-----\n");
	for (unsigned i = 0; i < der->size; i += 3) {
		unsigned n = MIN(3U, der->size - i), bits = 0;
		for (unsigned j = 0; j < 3; j++)
			bits = bits << 8 | (j < n ? der->data[i + j] : 0);
		for (unsigned j = 0; j < 4; j++)
			*at++ = j <= n ? digits[bits >> (18 - 6 * j) & 63] : '=';
		if (i % 48 == 45)
			*at++ = '\n';
	}
	strcpy(at, "\n-----END CERTIFICATE-----\n");
	return text;
}

/* The key of the leaves, in PEM. */
static void key_of(const struct bench *b, const struct leaf *leaf, char *out, size_t bytes)
{
	gnutls_x509_privkey_t key = NULL;
	memset(out, 0, bytes--);
	CHECK_INT(b->v.privkey_export_x509(leaf->key, &key), 0);
	CHECK_INT(b->v.x509_privkey_export(key, GNUTLS_X509_FMT_PEM, out, &bytes), 0);
	b->v.x509_privkey_deinit(key);
}

TEST(what_is_no_authority_is_refused)
{
	BENCH b;
	struct authority other;
	struct err err = {0};
	char key[AUTHORITY_PEM_BYTES];
	bench_open(&b);
	CHECK_INT(authority_make(&other, &err), 0);
	struct leaf *leaf = get(&b, "a.example");
	key_of(&b, leaf, key, sizeof key);
	check_no_authority("", "", "not an authority");
	check_no_authority("x", b.a.key, "not an authority");
	check_no_authority(b.a.certificate, "x", "not an authority");
	check_no_authority(b.a.certificate, other.key, "has another key");
	check_no_authority(pem_of(&leaf->certificate.cert), key, "signs nothing");
	leaf_let_go(b.l, leaf);
	leaves_free(NULL);
}

/* ---- what is kept ---- */

static bool is_same(const struct said *a, const struct said *b)
{
	return memcmp(a->serial, b->serial, sizeof a->serial) == 0;
}

TEST(a_leaf_is_made_once_and_all_share_a_key)
{
	BENCH b;
	bench_open(&b);
	struct leaf *one = get(&b, "a.example"), *two = get(&b, "b.example");
	struct leaf *again = get(&b, "a.example");
	CHECK(one == again && one != two);
	CHECK(one->key && one->key == two->key);
	struct said s = read_leaf(&b, "a.example"), t = read_leaf(&b, "b.example");
	CHECK(!is_same(&s, &t));
	CHECK(memcmp(s.own_id, t.own_id, VERIFIER_ID_BYTES) == 0);
	leaf_let_go(b.l, one);
	leaf_let_go(b.l, two);
	leaf_let_go(b.l, again);
	leaf_let_go(b.l, NULL);
}

static void ask(struct bench *b, int from, int until)
{
	char host[32];
	for (int i = from; i < until; i++) {
		(void)snprintf(host, sizeof host, "%d.example", i);
		leaf_let_go(b->l, get(b, host));
	}
}

TEST(that_which_was_asked_for_longest_ago_is_dropped)
{
	BENCH b;
	bench_open(&b);
	struct said first = read_leaf(&b, "0.example"), second = read_leaf(&b, "1.example");
	ask(&b, 2, LEAVES_MAX); /* now the table is full */
	struct said again = read_leaf(&b, "0.example");
	CHECK(is_same(&again, &first));
	ask(&b, LEAVES_MAX, LEAVES_MAX + 1); /* which drops the second */
	again = read_leaf(&b, "0.example");
	CHECK(is_same(&again, &first));
	again = read_leaf(&b, "1.example");
	CHECK(!is_same(&again, &second));
	ask(&b, 1000, 1000 + LEAVES_MAX - 1);
	again = read_leaf(&b, "1.example");
	CHECK(!is_same(&again, &second));
	ask(&b, 2000, 2000 + LEAVES_MAX);
	again = read_leaf(&b, "0.example");
	CHECK(!is_same(&again, &first));
}

/* As of a client that lets its handshake stand still, while others ask for many names. */
TEST(a_leaf_that_is_held_outlives_its_place_in_the_table)
{
	BENCH b;
	bench_open(&b);
	struct leaf *held = get(&b, "0.example");
	ask(&b, 1, 2 * LEAVES_MAX);
	struct said now = read_leaf(&b, "0.example");
	gnutls_x509_crt_t crt = crt_of(&b, held);
	struct said then = verifier_read(&b.v, crt);
	CHECK_STR(then.name, "0.example");
	CHECK(!is_same(&now, &then));
	CHECK(b.v.x509_crt_check_hostname(crt, "0.example"));
	b.v.x509_crt_deinit(crt);
	leaf_let_go(b.l, held);
}

TEST(a_leaf_that_is_about_to_expire_is_made_anew)
{
	BENCH b;
	bench_open(&b);
	struct said first = read_leaf(&b, "a.example");
	shift_s = 29 * DAY_S - 100;
	struct said s = read_leaf(&b, "a.example");
	CHECK(is_same(&s, &first));
	struct leaf *held = get(&b, "a.example");
	shift_s = 29 * DAY_S + 100;
	s = read_leaf(&b, "a.example");
	CHECK(!is_same(&s, &first));
	CHECK(s.until > first.until + 28 * DAY_S);
	leaf_let_go(b.l, held);
	/* a clock that is set back to before the certificate */
	shift_s = 29 * DAY_S - HOUR_S + 200;
	struct said back = read_leaf(&b, "a.example");
	CHECK(is_same(&back, &s));
	shift_s = 0;
	back = read_leaf(&b, "a.example");
	CHECK(!is_same(&back, &s));
}

/* ---- a client of another library ---- */

static const char client[] =
	"import os, socket, ssl, sys, threading\n"
	"certs, key, *leaves = sys.argv[1:]\n"
	"def serve(end, leaf):\n"
	"    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n"
	"    context.load_cert_chain(leaf, key)\n"
	"    try:\n"
	"        context.wrap_socket(end, server_side=True).unwrap()\n"
	"    except (ssl.SSLError, OSError):\n"
	"        end.close()\n"
	"def try_it(leaf, host, **trust):\n"
	"    ours, theirs = socket.socketpair()\n"
	"    server = threading.Thread(target=serve, args=(theirs, leaf))\n"
	"    server.start()\n"
	"    context = ssl.create_default_context(**trust)\n"
	"    context.verify_flags |= ssl.VERIFY_X509_STRICT\n"
	"    try:\n"
	"        with context.wrap_socket(ours, server_hostname=host) as s:\n"
	"            s.unwrap()\n"
	"        said = 'accepted'\n"
	"    except ssl.SSLCertVerificationError as e:\n"
	"        said = {62: 'other name', 20: 'not known'}.get(e.verify_code, e.verify_message)\n"
	"    finally:\n"
	"        ours.close()\n"
	"        server.join()\n"
	"    return said\n"
	"bundle = certs + '/ca-certificates.crt'\n"
	"for leaf, host in zip(leaves[::2], leaves[1::2]):\n"
	"    for trust in ({'cafile': bundle}, {'capath': certs}):\n"
	"        print(try_it(leaf, host, **trust), try_it(leaf, 'x.example', **trust), sep=', ')\n"
	"print(try_it(leaves[0], leaves[1], cadata=''))\n";

TEST(python_accepts_a_leaf_by_the_bundle_and_by_the_directory)
{
	BENCH b;
	TREE box = tree_new(), own = tree_new();
	struct err err = {0};
	char name[RULE_HOST_BYTES], key[AUTHORITY_PEM_BYTES], got[LINES_BYTES] = "";
	long_name(name);
	const char *hosts[] = {"api.example", "a_b.example", name};
	char *command = NULL;
	if (access("/usr/bin/python3", X_OK) < 0)
		return t_skip("no /usr/bin/python3");
	bench_open(&b);
	CHECK_INT(authority_publish(&b.a, box.root, &authority_host, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		char file[16];
		struct leaf *leaf = get(&b, hosts[i]);
		(void)snprintf(file, sizeof file, "/%zu.pem", i);
		tree_put(&own, file, pem_of(&leaf->certificate.cert));
		key_of(&b, leaf, key, sizeof key);
		leaf_let_go(b.l, leaf);
	}
	tree_put(&own, "/key.pem", key);
	tree_put(&own, "/client.py", client);
	CHECK(asprintf(&command,
		      "cd %s && /usr/bin/python3 client.py %s key.pem 0.pem %s 1.pem %s 2.pem %s "
		      "2>&1",
		      own.root, box.root, hosts[0], hosts[1], hosts[2]) > 0);
	FILE *f = popen(command, "r"); /* NOLINT(cert-env33-c): of a test's own directory */
	if (CHECK(f)) {
		got[fread(got, 1, sizeof got - 1, f)] = '\0';
		CHECK_INT(pclose(f), 0);
	}
	free(command);
	CHECK_STR(got,
		"accepted, other name\naccepted, other name\n"
		"accepted, other name\naccepted, other name\n"
		"accepted, other name\naccepted, other name\n"
		"not known\n");
}
