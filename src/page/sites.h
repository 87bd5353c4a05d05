/* sites.h - the places in the code that occur in the kept part of the tree, and their names, each once */
#ifndef HWI_PAGE_SITES_H
#define HWI_PAGE_SITES_H

#include "compare/identity.h"
#include "export/sites.h"
#include "page/packed.h"
#include "page/tree.h"
#include "trace/store.h"

/* A function at a site; inlined functions come first. Strings are numbered from 1; 0: none. All members are uint64_t,
 * since they are columns of a table. */
struct hwi_page_frame {
  uint64_t function, file, line, reason;
  uint64_t identity; /* shared by equal frames of two runs; 0: there is one run */
};

/* How frames are matched with another run's. `identities` is NULL if there is no other run. */
struct hwi_page_matching {
  struct hwi_identities *identities;
  int side;
};

struct hwi_page_sites {
  const struct hwi_named_frames *names;
  const struct hwi_page_matching *matching;
  struct hwi_store strings;
  struct hwi_numbering pointers; /* numbers of texts that the symbolizer owns, by their pointers */
  uint32_t *string_of;           /* by the pointer's number: the string */
  size_t string_of_capacity;
  struct hwi_sites sites;
  struct hwi_page_frame *frames; /* of all sites, in their order */
  size_t frame_count;
  uint32_t *site_of; /* by node */
  bool failed;       /* there was no memory for a string or an identity */
};

/* Finds the sites of the tree's nodes and their names. Returns 0 or a negative status. Release `sites` even after a
 * failure. */
int hwi_page_sites_init(struct hwi_page_sites *sites, const struct hwi_page_tree *tree,
                        const struct hwi_named_frames *names, const struct hwi_page_matching *matching,
                        struct hwi_error *error);
void hwi_page_sites_release(struct hwi_page_sites *sites);

/* Writes "modules", "frames", "sites" and "nodes" into the current object. */
void hwi_json_page_sites(struct hwi_json *json, struct hwi_page_sites *sites, const struct hwi_page_tree *tree);

/* Writes "strings"; call it after all members that refer to strings. They take at most STRINGS_BYTES_MAX; if needed,
 * the longest ones are shortened in the middle. */
void hwi_json_page_strings(struct hwi_json *json, const struct hwi_page_sites *sites);

#endif
