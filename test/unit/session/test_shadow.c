/* Files as they were, and the way back to them. SPDX-License-Identifier: Apache-2.0 */
#include "session/box/shadow.h"

#include "base/fd.h"
#include "t.h"
#include "tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct workspace scan(const struct tree *t)
{
	struct workspace w = {0};
	struct err err;
	CHECK_INT(workspace_scan(&w, t->fd, &err), 0);
	return w;
}
#define SCANNED cleanup(workspace_done) struct workspace

static void let_go(struct shadow **s)
{
	shadow_let_go(*s);
}
#define SHADOW cleanup(let_go) struct shadow

static struct shadow *take(const struct tree *t, const struct shadow *prev)
{
	struct workspace files = scan(t);
	struct shadow *s = NULL;
	struct err err;
	CHECK_INT(shadow_begin(&s, &files, prev, &err), 0);
	shadow_read(s, t->fd);
	CHECK_INT(shadow_count_due(s), 0);
	CHECK_INT(files.n_files, 0);
	return s;
}

static char said[4096];

static void say(void *arg, const struct shadow_action *a)
{
	size_t at = strlen(said);
	(void)arg;
	at += (size_t)snprintf(said + at, sizeof said - at, "%s%c %s", at ? "," : "",
		"-dwlm?n>Nt"[a->act], a -> path);
	if (a->act == SHADOW_WRITE || a->act == SHADOW_ANEW || a->act == SHADOW_LINK ||
		a->act == SHADOW_MOVE || a->act == SHADOW_NAME)
		snprintf(said + at, sizeof said - at, "=%.*s", (int)MIN(a->bytes, (size_t)20),
			(const char *)a->data);
	else if (a->act == SHADOW_MODE)
		snprintf(said + at, sizeof said - at, "=%o", a->mode);
}

/* The way back from what is there now. */
static const char *way(const struct shadow *then, const struct tree *t)
{
	SCANNED now = scan(t);
	said[0] = '\0';
	shadow_diff(then, &now, say, NULL);
	return said;
}

TEST(nothing_changed)
{
	TREE t = tree_new();
	tree_put(&t, "/d/f", "f");
	SHADOW *s = take(&t, NULL);
	CHECK_STR(way(s, &t), "");
	CHECK_INT(shadow_files(s)->n_files, 2);
}

TEST(created_modified_deleted)
{
	TREE t = tree_new();
	tree_put(&t, "/changed", "one");
	tree_put(&t, "/gone", "g");
	tree_put(&t, "/same", "s");
	SHADOW *s = take(&t, NULL);
	tree_put(&t, "/changed", "two");
	tree_put(&t, "/new", "n");
	CHECK_INT(unlink(tree_path(&t, "/gone")), 0);
	CHECK_STR(way(s, &t), "- new,w changed=one,n gone=g");
}

TEST(a_name_of_another_file_is_taken_from_it)
{
	TREE t = tree_new();
	tree_put(&t, "/a", "a");
	tree_put(&t, "/b", "b");
	tree_put(&t, "/c", "c");
	SHADOW *s = take(&t, NULL);
	CHECK_INT(unlink(tree_path(&t, "/a")), 0);
	CHECK_INT(linkat(t.fd, "b", t.fd, "a", 0), 0);
	CHECK_STR(way(s, &t), "n a=a,n b=b");
	CHECK_INT(rename(tree_path(&t, "/c"), tree_path(&t, "/b")), 0);
	CHECK_STR(way(s, &t), "n a=a,n b=b,n c=c");
}

/* What is to be moved back. */
static const char *moved(const struct shadow *then, const struct tree *t)
{
	SCANNED now = scan(t);
	said[0] = '\0';
	shadow_diff_moved(shadow_files(then), &now, say, NULL);
	return said;
}

static void rename_in(const struct tree *t, const char *from, const char *to)
{
	CHECK_INT(renameat(t->fd, from, t->fd, to), 0);
}

TEST(what_has_another_name_is_moved_back)
{
	TREE t = tree_new();
	tree_put(&t, "/a", "a");
	tree_put(&t, "/b", "b");
	tree_put(&t, "/d/f", "f");
	tree_put(&t, "/d/g", "g");
	CHECK_INT(linkat(t.fd, "b", t.fd, "z", 0), 0);
	SHADOW *s = take(&t, NULL);
	CHECK_STR(moved(s, &t), "");
	rename_in(&t, "a", "new");
	rename_in(&t, "d", "e");
	CHECK_STR(moved(s, &t), "> a=new,> d=e");
	rename_in(&t, "e", "d");
	rename_in(&t, "d/f", "a");
	CHECK_STR(moved(s, &t), "> a=new"); /* where this goes the other comes from */
	rename_in(&t, "a", "d/f");
	rename_in(&t, "new", "a");
	rename_in(&t, "b", "d/g");
	CHECK_STR(moved(s, &t), "> b=d/g");
	CHECK_INT(unlink(tree_path(&t, "/d/g")), 0);
	CHECK_STR(moved(s, &t), ""); /* its other name is its own */
}

TEST(an_inode_number_alone_is_no_file)
{
	TREE t = tree_new();
	tree_put(&t, "/a", "a");
	SHADOW *s = take(&t, NULL);
	rename_in(&t, "a", "b");
	tree_put(&t, "/b", "other");
	CHECK_STR(moved(s, &t), "");
	CHECK_INT(unlink(tree_path(&t, "/b")), 0);
	CHECK_INT(mkdir(tree_path(&t, "/b"), 0700), 0);
	CHECK_STR(moved(s, &t), "");
}

TEST(directories_come_before_and_go_after_what_is_in_them)
{
	TREE t = tree_new();
	tree_put(&t, "/d/e/f", "f");
	SHADOW *s = take(&t, NULL);
	CHECK_INT(unlink(tree_path(&t, "/d/e/f")), 0);
	CHECK_INT(rmdir(tree_path(&t, "/d/e")), 0);
	CHECK_INT(rmdir(tree_path(&t, "/d")), 0);
	tree_put(&t, "/n/o/p", "p");
	mode_t mask = umask(0);
	(void)umask(mask);
	char wanted[100];
	snprintf(wanted, sizeof wanted, "- n/o/p,- n/o,- n,d d,d d/e,n d/e/f=f,m d/e=%o,m d=%o",
		0777 & ~mask, 0777 & ~mask);
	CHECK_STR(way(s, &t), wanted);
}

TEST(kinds_that_change)
{
	TREE t = tree_new();
	tree_put(&t, "/file", "f");
	CHECK_INT(mkdir(tree_path(&t, "/dir"), 0700), 0);
	CHECK_INT(symlink("one", tree_path(&t, "/link")), 0);
	SHADOW *s = take(&t, NULL);
	CHECK_INT(unlink(tree_path(&t, "/file")), 0);
	CHECK_INT(rmdir(tree_path(&t, "/dir")), 0);
	CHECK_INT(unlink(tree_path(&t, "/link")), 0);
	CHECK_INT(mkdir(tree_path(&t, "/file"), 0700), 0);
	tree_put(&t, "/dir", "d");
	CHECK_INT(symlink("two", tree_path(&t, "/link")), 0);
	CHECK_STR(way(s, &t), "- link,- file,- dir,d dir,n file=f,l link=one,m dir=700");
}

TEST(modes)
{
	TREE t = tree_new();
	tree_put(&t, "/f", "f");
	CHECK_INT(mkdir(tree_path(&t, "/d"), 0700), 0);
	CHECK_INT(mkdir(tree_path(&t, "/closed"), 0500), 0);
	CHECK_INT(chmod(t.root, 0750), 0);
	SHADOW *s = take(&t, NULL);
	CHECK_INT(chmod(tree_path(&t, "/f"), 0600), 0);
	CHECK_INT(chmod(tree_path(&t, "/d"), 0755), 0);
	/* Init may have opened the closed one on the way. */
	CHECK_STR(way(s, &t), "w f=f,m d=700,m closed=500");
	CHECK_INT(chmod(t.root, 0711), 0);
	CHECK_STR(way(s, &t), "w f=f,m d=700,m closed=500,m .=750");
}

TEST(special_modes_are_lost)
{
	TREE t = tree_new();
	CHECK_INT(mkdir(tree_path(&t, "/d"), 0700), 0);
	CHECK_INT(mkdir(tree_path(&t, "/e"), 0700), 0);
	tree_put(&t, "/f", "f");
	CHECK_INT(chmod(tree_path(&t, "/d"), 02755), 0);
	CHECK_INT(chmod(tree_path(&t, "/e"), 02755), 0);
	CHECK_INT(chmod(tree_path(&t, "/f"), 02755), 0);
	CHECK_INT(chmod(t.root, 02755), 0);
	SHADOW *s = take(&t, NULL);
	CHECK_STR(way(s, &t), "");
	CHECK_INT(chmod(tree_path(&t, "/d"), 0755), 0);
	CHECK_INT(rmdir(tree_path(&t, "/e")), 0);
	tree_put(&t, "/f", "changed");
	CHECK_INT(chmod(t.root, 0755), 0);
	CHECK_STR(way(s, &t), "d e,w f=f,? f,m e=2755,? e,m d=2755,? d,m .=2755,? .");
}

TEST(times_of_directories)
{
	TREE t = tree_new();
	tree_put(&t, "/d/e/f", "f");
	tree_put(&t, "/o/f", "f");
	SHADOW *s = take(&t, NULL);
	tree_put(&t, "/d/e/new", "f");
	CHECK_STR(way(s, &t), "- d/e/new,t d/e");
}

TEST(names_of_one_file)
{
	TREE t = tree_new();
	tree_put(&t, "/a", "a");
	CHECK_INT(linkat(t.fd, "a", t.fd, "b", 0), 0);
	CHECK_INT(linkat(t.fd, "a", t.fd, "c", 0), 0);
	SHADOW *s = take(&t, NULL);
	CHECK_INT(unlink(tree_path(&t, "/a")), 0);
	tree_put(&t, "/x", "x");
	rename_in(&t, "x", "b");
	CHECK_STR(way(s, &t), "n a=a,N a=c,n b=a,N b=c,w c=a");
	CHECK_INT(unlink(tree_path(&t, "/b")), 0);
	CHECK_INT(unlink(tree_path(&t, "/c")), 0);
	CHECK_STR(way(s, &t), "n a=a,n b=a,N b=a,n c=a,N c=a");
}

TEST(same_size_and_old_times_are_no_disguise)
{
	TREE t = tree_new();
	const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	tree_put(&t, "/f", "one");
	CHECK_INT(utimensat(t.fd, "f", times, 0), 0);
	SHADOW *s = take(&t, NULL);
	cleanup_fd int fd = open(tree_path(&t, "/f"), O_WRONLY | O_CLOEXEC);
	const struct timespec tick = {.tv_nsec = 30 * 1000 * 1000};
	(void)nanosleep(&tick, NULL); /* the kernel's clock for files is coarse */
	CHECK_INT(pwrite(fd, "two", 3, 0), 3);
	CHECK_INT(utimensat(t.fd, "f", times, 0), 0);
	CHECK_STR(way(s, &t), "w f=one");
}

TEST(what_sqlite_maps_is_put_back_always)
{
	TREE t = tree_new();
	tree_put(&t, "/d.db-shm", "one");
	SHADOW *s = take(&t, NULL);
	CHECK_STR(way(s, &t), "w d.db-shm=one");
}

TEST(a_fifo_that_is_gone_is_lost)
{
	TREE t = tree_new();
	CHECK_INT(mkfifo(tree_path(&t, "/fifo"), 0600), 0);
	SHADOW *s = take(&t, NULL);
	CHECK_INT(chmod(tree_path(&t, "/fifo"), 0644), 0);
	CHECK_STR(way(s, &t), "m fifo=600");
	CHECK_INT(unlink(tree_path(&t, "/fifo")), 0);
	CHECK_STR(way(s, &t), "? fifo");
	tree_put(&t, "/fifo", "f");
	CHECK_STR(way(s, &t), "- fifo,? fifo");
}

TEST(large_files_are_lost_when_they_change)
{
	TREE t = tree_new();
	char *big = calloc(1, SHADOW_FILE_BYTES + 1);
	tree_put_bytes(&t, "/big", big, SHADOW_FILE_BYTES + 1);
	tree_put_bytes(&t, "/fits", big, SHADOW_FILE_BYTES);
	free(big);
	SHADOW *s = take(&t, NULL);
	CHECK_STR(way(s, &t), "");
	tree_put(&t, "/big", "b");
	CHECK_INT(unlink(tree_path(&t, "/fits")), 0);
	CHECK_STR(way(s, &t), "? big,n fits=");
}

TEST(all_together_is_bounded)
{
	TREE t = tree_new();
	char *big = calloc(1, SHADOW_FILE_BYTES), path[16];
	int n = SHADOW_TOTAL_BYTES / SHADOW_FILE_BYTES;
	for (int i = 0; i <= n; i++) {
		snprintf(path, sizeof path, "/f%02d", i);
		tree_put_bytes(&t, path, big, SHADOW_FILE_BYTES);
	}
	free(big);
	SHADOW *s = take(&t, NULL);
	for (int i = n - 1; i <= n; i++) {
		snprintf(path, sizeof path, "/f%02d", i);
		CHECK_INT(unlink(tree_path(&t, path)), 0);
	}
	CHECK_STR(way(s, &t), "n f31=,? f32");
}

TEST(what_is_known_is_shared)
{
	TREE t = tree_new();
	tree_put(&t, "/f", "one");
	const struct timespec tick = {.tv_nsec = 50 * 1000 * 1000};
	(void)nanosleep(&tick, NULL); /* so that its change is not too fresh to be sure of it */
	struct shadow *first = take(&t, NULL);
	struct shadow *second = take(&t, first);
	tree_put(&t, "/f", "two");
	SHADOW *third = take(&t, second);
	shadow_let_go(first);
	CHECK_STR(way(second, &t), "w f=one");
	shadow_let_go(second);
	CHECK_STR(way(third, &t), "");
	tree_put(&t, "/f", "three");
	CHECK_STR(way(third, &t), "w f=two");
}

TEST(only_what_is_new)
{
	TREE t = tree_new();
	tree_put(&t, "/a", "");
	tree_put(&t, "/gone", "");
	SCANNED then = scan(&t);
	tree_put(&t, "/a", "changed");
	tree_put(&t, "/d/f", "");
	CHECK_INT(unlink(tree_path(&t, "/gone")), 0);
	SCANNED now = scan(&t);
	said[0] = '\0';
	shadow_diff_new(&then, &now, say, NULL);
	CHECK_STR(said, "- d/f,- d");
}
