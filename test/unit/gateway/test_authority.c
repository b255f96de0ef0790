/* The authority of the engine, and the directory that boxes see as /etc/ssl/certs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "gateway/authority.h"

#include "base/fd.h"
#include "t.h"
#include "unit/gateway/verifier.h"
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DAY_S = 24 * 60 * 60, FILE_BYTES = 4 << 20 };

static struct authority make(void)
{
	struct authority a = {0};
	struct err err = {0};
	CHECK_INT(authority_make(&a, &err), 0);
	CHECK_STR(err.msg, "");
	return a;
}

/* ---- the authority ---- */

TEST(an_authority_signs_others_and_nothing_else)
{
	struct verifier v = verifier_new();
	struct authority a = make();
	gnutls_x509_crt_t crt =
		verifier_import(&v, a.certificate, strlen(a.certificate), GNUTLS_X509_FMT_PEM);
	struct said s = verifier_read(&v, crt);
	time_t now = time(NULL);
	CHECK_STR(s.name, "retort sandbox authority");
	CHECK_INT(s.is_authority, 1);
	CHECK_INT(s.path_length, 0);
	CHECK_INT(s.usage, GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN);
	CHECK_INT(s.key_algorithm, GNUTLS_PK_ECDSA);
	CHECK_INT(s.key_bits, 256);
	CHECK_INT(s.serial_bytes, 16);
	CHECK_INT(s.own_id_bytes, VERIFIER_ID_BYTES);
	CHECK(s.from <= now - 3600 && s.from > now - 3700);
	CHECK(s.until > now + 3649 * (time_t)DAY_S && s.until < now + 3651 * (time_t)DAY_S);
	v.x509_crt_deinit(crt);
}

TEST(each_authority_is_another)
{
	struct authority a = make(), b = make();
	CHECK(strcmp(a.certificate, b.certificate) != 0);
	CHECK(strcmp(a.key, b.key) != 0);
	CHECK_HAS(a.certificate, "-----BEGIN CERTIFICATE-----");
	CHECK_HAS(a.certificate, "-----END CERTIFICATE-----\n");
	CHECK(!strstr(a.certificate, "PRIVATE KEY"));
	CHECK_HAS(a.key, "PRIVATE KEY-----\n");
}

/* The first bytes, as a little-endian number, of the SHA-1 of the subject in its canonical form:
 * UTF-8, lower case, without the outer sequence. */
TEST(the_name_of_the_file_is_the_hash_of_the_subject)
{
	static const char subject[] = "\x31\x21\x30\x1f\x06\x03\x55\x04\x03\x0c\x18"
				      "retort sandbox authority";
	struct verifier v = verifier_new();
	unsigned char sum[20] = {0};
	char name[16];
	CHECK_INT(v.hash_fast(GNUTLS_DIG_SHA1, subject, sizeof subject - 1, sum), 0);
	(void)snprintf(name, sizeof name, "%02x%02x%02x%02x.0", sum[3], sum[2], sum[1], sum[0]);
	CHECK_STR(name, AUTHORITY_FILE);
}

/* Run @command, and return the first line that it prints. */
static const char *first_line(const char *command)
{
	static char line[256];
	FILE *f = popen(command, "r"); /* NOLINT(cert-env33-c): of a test's own directory */
	if (!CHECK(f))
		return "";
	if (!fgets(line, sizeof line, f))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	(void)pclose(f);
	return line;
}

TEST(openssl_finds_the_file_by_the_same_hash)
{
	char command[256];
	struct err err = {0};
	struct authority a = make();
	TREE box = tree_new();
	if (system("openssl version >/dev/null 2>&1") != 0)
		return t_skip("no openssl");
	CHECK_INT(authority_publish(&a, box.root, NULL, &err), 0);
	(void)snprintf(command, sizeof command, "openssl x509 -hash -noout -in %s/%s", box.root,
		AUTHORITY_FILE);
	CHECK_HAS(AUTHORITY_FILE, first_line(command));
	CHECK_INT(strlen(first_line(command)), 8);
	(void)snprintf(command, sizeof command,
		"openssl verify -x509_strict -check_ss_sig -no-CAfile -CApath %s %s/%s 2>&1",
		box.root, box.root, AUTHORITY_FILE);
	CHECK_HAS(first_line(command), ": OK");
}

/* ---- the directory ---- */

/* A directory of a host and one for boxes. */
struct places {
	struct tree host, box;
	char certs[128], bundle[128], second[128];
	const char *bundles[3];
	struct authority_host from;
	struct authority a;
	struct err err;
};

static void places_open(struct places *p)
{
	*p = (struct places){.host = tree_new(), .box = tree_new(), .a = make()};
	(void)snprintf(p->certs, sizeof p->certs, "%s/certs", p->host.root);
	(void)snprintf(p->bundle, sizeof p->bundle, "%s/ca-certificates.crt", p->certs);
	(void)snprintf(p->second, sizeof p->second, "%s/ca-bundle.pem", p->host.root);
	p->bundles[0] = p->bundle;
	p->bundles[1] = p->second;
	p->from = (struct authority_host){p->certs, p->bundles};
	tree_put(&p->host, "/certs/ca-certificates.crt", "the host's\n");
}

static void places_done(struct places *p)
{
	tree_done(&p->host);
	tree_done(&p->box);
}
#define PLACES cleanup(places_done) struct places

static int publish(struct places *p)
{
	p->err = (struct err){0};
	return authority_publish(&p->a, p->box.root, &p->from, &p->err);
}

/* A link of the host's directory. */
static void put_link(struct places *p, const char *name, const char *target)
{
	char path[256];
	(void)snprintf(path, sizeof path, "%s/%s", p->certs, name);
	(void)unlink(path);
	CHECK_INT(symlink(target, path), 0);
}

/* What the link @name of the published directory leads to; NULL: it is no link. */
static const char *link_of(const struct places *p, const char *name)
{
	static char target[4096];
	ssize_t n = readlinkat(p->box.fd, name, target, sizeof target - 1);
	target[n > 0 ? n : 0] = '\0';
	return n < 0 ? NULL : target;
}

/* How many entries a published directory has; all can be read, and no key and nothing half-written
 * is among them. */
static int count(const struct places *p)
{
	static char text[FILE_BYTES + 1];
	int n = 0;
	DIR *list = opendir(p->box.root);
	for (const struct dirent *e; list && (e = readdir(list));) {
		struct stat st = {0};
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		n++;
		CHECK(e->d_name[0] != '.');
		CHECK_INT(fstatat(p->box.fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
		if (!S_ISREG(st.st_mode))
			continue;
		CHECK_INT(st.st_mode & 07777, 0644);
		cleanup_fd int fd = openat(p->box.fd, e->d_name, O_RDONLY | O_CLOEXEC);
		ssize_t bytes = fd_read_all(fd, text, sizeof text);
		CHECK(bytes >= 0 && !memmem(text, (size_t)bytes, "PRIVATE KEY", 11));
	}
	if (list)
		(void)closedir(list);
	return n;
}

static void check_bundle(struct places *p, const char *before)
{
	char want[AUTHORITY_PEM_BYTES + 64];
	(void)snprintf(want, sizeof want, "%s%s", before, p->a.certificate);
	CHECK_STR(tree_get(&p->box, "/" AUTHORITY_BUNDLE), want);
	CHECK_STR(tree_get(&p->box, "/" AUTHORITY_FILE), p->a.certificate);
}

TEST(a_directory_has_the_hosts_certificates_and_ours)
{
	PLACES p;
	struct stat st = {0};
	places_open(&p);
	tree_put(&p.host, "/certs/one.pem", "one");
	tree_put(&p.host, "/certs/" AUTHORITY_FILE, "of another engine");
	tree_put(&p.host, "/certs/java/cacerts", "a keystore");
	tree_put(&p.host, "/certs/.hidden", "hidden");
	(void)umask(077);
	CHECK_INT(chmod(p.box.root, 0700), 0);
	CHECK_INT(publish(&p), 0);
	(void)umask(022);
	CHECK_INT(stat(p.box.root, &st), 0);
	CHECK_INT(st.st_mode & 07777, 0755);
	check_bundle(&p, "the host's\n");
	CHECK_STR(tree_get(&p.box, "/one.pem"), "one");
	CHECK_STR(tree_get(&p.box, "/java/cacerts"), "a keystore");
	CHECK_INT(count(&p), 4);
}

TEST(what_was_written_is_removed)
{
	PLACES p;
	places_open(&p);
	tree_put(&p.host, "/certs/one.pem", "one");
	tree_put(&p.host, "/certs/java/cacerts", "a keystore");
	put_link(&p, "0000.0", "one.pem");
	CHECK_INT(publish(&p), 0);
	tree_put(&p.box, "/.retort-aside", "of one that was interrupted");
	cleanup_fd int fd = open(p.box.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	authority_remove(fd);
	CHECK_INT(rmdir(p.box.root), 0);
	CHECK_INT(mkdir(p.box.root, 0700), 0);
	CHECK_STR(tree_get(&p.host, "/certs/one.pem"), "one");
}

TEST(links_stay_links_where_boxes_can_follow_them)
{
	PLACES p;
	char path[256];
	places_open(&p);
	tree_put(&p.host, "/certs/one.pem", "one");
	tree_put(&p.host, "/elsewhere/two.pem", "two");
	put_link(&p, "0000.0", "one.pem");
	put_link(&p, "0001.0", tree_path(&p.host, "/certs/one.pem"));
	put_link(&p, "cert.pem", "ca-certificates.crt");
	put_link(&p, "round.pem", "round.pem");
	put_link(&p, "usr.pem", "/usr/share/ca-certificates/not-there.crt");
	put_link(&p, "two.pem", "../elsewhere/two.pem");
	put_link(&p, "too.pem", tree_path(&p.host, "/elsewhere/two.pem"));
	(void)snprintf(path, sizeof path, "/usr/..%s/elsewhere/two.pem", p.host.root);
	put_link(&p, "up.pem", path);
	put_link(&p, "gone.pem", "../elsewhere/gone.pem");
	put_link(&p, "java", "../elsewhere");
	CHECK_INT(publish(&p), 0);
	CHECK_STR(link_of(&p, "0000.0"), "one.pem");
	CHECK_STR(link_of(&p, "0001.0"), "one.pem");
	CHECK_STR(link_of(&p, "cert.pem"), "ca-certificates.crt");
	CHECK_STR(link_of(&p, "round.pem"), "round.pem");
	CHECK_STR(link_of(&p, "usr.pem"), "/usr/share/ca-certificates/not-there.crt");
	CHECK(!link_of(&p, "two.pem") && !link_of(&p, "too.pem") && !link_of(&p, "up.pem"));
	CHECK_STR(tree_get(&p.box, "/0000.0"), "one");
	CHECK_STR(tree_get(&p.box, "/two.pem"), "two");
	CHECK_STR(tree_get(&p.box, "/too.pem"), "two");
	CHECK_STR(tree_get(&p.box, "/up.pem"), "two");
	CHECK_INT(count(&p), 11);
}

/* A copy is readable for everybody, so what is not must not be copied: also by root, who can read
 * it. */
TEST(what_not_everybody_may_read_is_left_out)
{
	PLACES p;
	places_open(&p);
	tree_put(&p.host, "/certs/owner.pem", "for the owner");
	tree_put(&p.host, "/certs/nobody.pem", "for nobody");
	tree_put(&p.host, "/certs/key.pem", "-----BEGIN EC PRIVATE KEY-----\nMHc\n");
	tree_put(&p.host, "/elsewhere/key.pem", "for the owner");
	CHECK_INT(chmod(tree_path(&p.host, "/certs/owner.pem"), 0640), 0);
	CHECK_INT(chmod(tree_path(&p.host, "/certs/nobody.pem"), 0), 0);
	CHECK_INT(chmod(tree_path(&p.host, "/elsewhere/key.pem"), 0600), 0);
	put_link(&p, "linked.pem", "../elsewhere/key.pem");
	CHECK_INT(mkfifo(tree_path(&p.host, "/certs/fifo"), 0666), 0);
	CHECK_INT(publish(&p), 0);
	CHECK_INT(count(&p), 2);
}

static void put_big(struct places *p, const char *name, off_t bytes)
{
	char path[64];
	(void)snprintf(path, sizeof path, "/certs/%s", name);
	tree_put(&p->host, path, "");
	CHECK_INT(truncate(tree_path(&p->host, path), bytes), 0);
}

TEST(a_file_beyond_the_limits_is_left_out)
{
	PLACES p;
	places_open(&p);
	put_big(&p, "big", FILE_BYTES);
	put_big(&p, "too-big", FILE_BYTES + 1);
	CHECK_INT(publish(&p), 0);
	CHECK(tree_has(&p.box, "/big") && !tree_has(&p.box, "/too-big"));
	CHECK_INT(count(&p), 3);
	for (int i = 0; i < 5; i++)
		put_big(&p, (char[]){(char)('a' + i), '\0'}, FILE_BYTES);
	CHECK_INT(unlinkat(p.box.fd, "big", 0), 0);
	CHECK_INT(publish(&p), 0);
	CHECK_INT(count(&p), 2 + 4);
	check_bundle(&p, "the host's\n");
}

TEST(entries_beyond_the_limit_are_left_out)
{
	PLACES p;
	char name[16];
	places_open(&p);
	for (int i = 0; i < 4200; i++) {
		(void)snprintf(name, sizeof name, "%d.pem", i);
		put_link(&p, name, "/usr/share/x");
	}
	CHECK_INT(publish(&p), 0);
	CHECK_INT(count(&p), 2 + 4096);
	check_bundle(&p, "the host's\n");
}

TEST(the_first_bundle_that_can_be_read_counts)
{
	PLACES p;
	places_open(&p);
	tree_put(&p.host, "/ca-bundle.pem", "without an end of line");
	CHECK_INT(publish(&p), 0);
	check_bundle(&p, "the host's\n");
	CHECK_INT(chmod(p.bundle, 0600), 0);
	CHECK_INT(publish(&p), 0);
	check_bundle(&p, "without an end of line\n");
	CHECK_INT(unlink(p.bundle), 0);
	CHECK_INT(publish(&p), 0);
	check_bundle(&p, "without an end of line\n");
	CHECK_INT(truncate(p.second, FILE_BYTES + 1), 0);
	CHECK_INT(publish(&p), 0);
	check_bundle(&p, "");
	CHECK_INT(unlink(p.second), 0);
	CHECK_INT(publish(&p), 0);
	check_bundle(&p, "");
}

TEST(a_host_without_certificates_has_ours)
{
	PLACES p;
	places_open(&p);
	p.from.certs = "/nonexistent/certs";
	CHECK_INT(publish(&p), 0);
	check_bundle(&p, "the host's\n");
	CHECK_INT(count(&p), 2);
	CHECK_INT(authority_publish(&p.a, p.box.root, NULL, &p.err), 0);
	check_bundle(&p, "");
	CHECK_INT(count(&p), 2);
}

/* Who has opened a file reads it to its end, as it was. */
TEST(what_is_there_is_replaced_in_one_step)
{
	PLACES p;
	char old[AUTHORITY_PEM_BYTES + 64], want[AUTHORITY_PEM_BYTES + 64];
	places_open(&p);
	put_link(&p, "kind.pem", "/usr/share/a");
	put_link(&p, "link.pem", "/usr/share/a");
	put_link(&p, "same.pem", "/usr/share/a");
	tree_put(&p.host, "/certs/stale.pem", "stale");
	CHECK_INT(publish(&p), 0);
	(void)snprintf(want, sizeof want, "the host's\n%s", p.a.certificate);
	cleanup_fd int fd = openat(p.box.fd, AUTHORITY_BUNDLE, O_RDONLY | O_CLOEXEC);
	CHECK_INT(unlink(tree_path(&p.host, "/certs/stale.pem")), 0);
	CHECK_INT(unlink(tree_path(&p.host, "/certs/kind.pem")), 0);
	tree_put(&p.host, "/certs/kind.pem", "now a file");
	put_link(&p, "link.pem", "/usr/share/b");
	tree_put(&p.host, "/certs/ca-certificates.crt", "newer\n");
	p.a = make();
	CHECK_INT(publish(&p), 0);
	check_bundle(&p, "newer\n");
	CHECK_STR(tree_get(&p.box, "/kind.pem"), "now a file");
	CHECK_STR(link_of(&p, "link.pem"), "/usr/share/b");
	CHECK_STR(link_of(&p, "same.pem"), "/usr/share/a");
	CHECK_INT(count(&p), 6);
	ssize_t n = fd_read_all(fd, old, sizeof old - 1);
	old[n > 0 ? n : 0] = '\0';
	CHECK_STR(old, want);
}

static void publish_without_space(void *arg)
{
	struct places *p = arg;
	CHECK(publish(p) < 0);
	CHECK_INT(p->err.code, ERR_NO_SPACE);
	CHECK_HAS(p->err.msg, p->box.root);
}

TEST(a_directory_that_cannot_be_written_is_an_error)
{
	PLACES p;
	places_open(&p);
	CHECK_INT(publish(&p), 0);
	tree_no_writes(publish_without_space, &p);
	check_bundle(&p, "the host's\n");
	CHECK_INT(count(&p), 2);
	tree_put(&p.host, "/certs/one.pem", "one");
	CHECK_INT(mkdirat(p.box.fd, "one.pem", 0755), 0);
	CHECK(publish(&p) < 0);
	CHECK_INT(p.err.code, ERR_IO);
	CHECK_HAS(p.err.msg, "one.pem");
	CHECK_INT(count(&p), 3);
	CHECK(authority_publish(&p.a, "/nonexistent/certs", &p.from, &p.err) < 0);
	CHECK_INT(p.err.code, ERR_NOT_FOUND);
	CHECK_HAS(p.err.msg, "/nonexistent/certs");
}

/* The host's own directory, whatever is in it. */
TEST(the_hosts_directory_is_published)
{
	PLACES p;
	places_open(&p);
	CHECK_INT(authority_publish(&p.a, p.box.root, &authority_host, &p.err), 0);
	CHECK_STR(p.err.msg, "");
	CHECK(count(&p) >= 2);
	CHECK_STR(tree_get(&p.box, "/" AUTHORITY_FILE), p.a.certificate);
}
