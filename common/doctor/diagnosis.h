/*
 * diagnosis: what the doctor says: findings, notes, and what was looked at.
 *
 * A finding is a mistake of the zoo, or one that has no name there. It says what is wrong, the evidence in numbers, the one
 * measurement that decided, how sure that is, and the cure. A note is what a reader of the curve should know, and is no
 * mistake. What was looked at is said in any case: "nothing found" is worth as much as was looked at.
 */
#ifndef DOCTOR_DIAGNOSIS_H
#define DOCTOR_DIAGNOSIS_H

#include "common/zoo.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    DIAGNOSIS_FINDINGS_MOST = ZOO_MEMBERS + 8,
    DIAGNOSIS_EVIDENCE_MOST = 6,
    DIAGNOSIS_NOTES_MOST = 16,
    DIAGNOSIS_TEXT_BYTES = 512,
};

/* likely: something else could look like this. strong: hardly. certain: by arithmetic. */
enum confidence { LIKELY, STRONG, CERTAIN };

struct finding {
    const char *name;          // of the zoo, or another
    const struct zoo_row *row; // NULL: not of the zoo, and then
    const char *wrong, *cure;  // are said here
    enum confidence confidence;
    char evidence[DIAGNOSIS_EVIDENCE_MOST][DIAGNOSIS_TEXT_BYTES];
    size_t evidence_count;
    char deciding[DIAGNOSIS_TEXT_BYTES];
};

struct note {
    const char *name;
    char text[DIAGNOSIS_TEXT_BYTES];
};

struct diagnosis {
    char run[DIAGNOSIS_TEXT_BYTES]; // which it is
    struct finding findings[DIAGNOSIS_FINDINGS_MOST];
    size_t finding_count;
    struct note notes[DIAGNOSIS_NOTES_MOST];
    size_t note_count;
    struct note looked[DIAGNOSIS_NOTES_MOST];
    size_t looked_count;
};

/* A new finding, to be filled in; it belongs to the diagnosis. */
struct finding *diagnosis_member(struct diagnosis *diagnosis, enum zoo_member member,
                                 enum confidence confidence);
struct finding *diagnosis_other(struct diagnosis *diagnosis, const char *name, const char *wrong,
                                const char *cure);

__attribute__((format(printf, 2, 3))) void finding_evidence(struct finding *finding,
                                                            const char *format, ...);
__attribute__((format(printf, 2, 3))) void finding_deciding(struct finding *finding,
                                                            const char *format, ...);
__attribute__((format(printf, 3, 4))) void
diagnosis_note(struct diagnosis *diagnosis, const char *name, const char *format, ...);
__attribute__((format(printf, 3, 4))) void
diagnosis_looked(struct diagnosis *diagnosis, const char *name, const char *format, ...);

bool diagnosis_has(const struct diagnosis *diagnosis, enum zoo_member member);

void diagnosis_print(const struct diagnosis *diagnosis, FILE *out);
int diagnosis_json(const struct diagnosis *diagnosis, FILE *out); // 0 or -ENOMEM

#endif
