/* A library that is rebuilt with another type of its variable: -DLEVEL_TYPE=double -DLEVEL=2.5. */
#ifndef LEVEL
#define LEVEL_TYPE long
#define LEVEL 11
#endif

LEVEL_TYPE level = LEVEL;
