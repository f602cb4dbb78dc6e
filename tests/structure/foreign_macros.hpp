// Macros that headers of other libraries define under ordinary words. Standard headers and those of
// our dependencies stand before this file, all public headers behind it: foreign_macros.py.

// Qt
#define slots
#define signals public
#define emit
#define foreach(variable, container) for (variable : container)
#define forever for (;;)

// Windows
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define near
#define far
#define huge
#define pascal
#define cdecl
#define small char
#define hyper __int64
#define interface struct
#define leave __leave
#define IN
#define OUT
#define OPTIONAL
#define CONST const
#define VOID void
#define THIS void
#define STRICT 1
#define TRUE 1
#define FALSE 0
#define ERROR 0
#define NO_ERROR 0L
#define DELETE (0x00010000L)
#define SYNCHRONIZE (0x00100000L)
#define ABSOLUTE 1
#define RELATIVE 2
#define ALTERNATE 1
#define DIFFERENCE 11
#define INFINITE 0xffffffff
#define IGNORE 0
#define OPAQUE 2
#define TRANSPARENT 1
#define DOMAIN 1
#define OVERFLOW 3
#define UNDERFLOW 4
#define CALLBACK __stdcall
#define Yield()

// X11
#define Bool int
#define Status int
#define True 1
#define False 0
#define None 0L
#define Success 0
#define Always 2
#define WhenMapped 1
#define NotUseful 0
#define Above 0
#define Below 1
#define Opposite 4
#define Complex 0
#define Convex 2
#define Nonconvex 1
#define Unsorted 0
#define CurrentTime 0L
#define ParentRelative 1L
#define CopyFromParent 0L
#define InputFocus 1L
#define KeyPress 2
#define KeyRelease 3
#define FocusIn 9
#define FocusOut 10
#define Expose 12
#define GrayScale 1
#define StaticGray 0
#define CursorShape 0
#define FontChange 255

// glibc, BSD and GNU modes of compilers
#define major(device) gnu_dev_major(device)
#define minor(device) gnu_dev_minor(device)
#define makedev(major_part, minor_part) gnu_dev_makedev(major_part, minor_part)
#define howmany(x, y) (((x) + ((y)-1)) / (y))
#define roundup(x, y) ((((x) + ((y)-1)) / (y)) * (y))
#define isset(a, i) ((a)[(i) / 8] & (1 << ((i) % 8)))
#define unix 1
#define linux 1
#define complex _Complex
#define I _Complex_I
#define B0 0
#define B1 1
#define ECHO 8

// Libraries of tests and logs
#define CHECK(condition) static_cast<void>(condition)
#define REQUIRE(condition) static_cast<void>(condition)
#define FAIL(text) static_cast<void>(text)
#define LOG(severity) severity
#define INFO 0
#define WARNING 1
#define FATAL 3
#define DEBUG 1
#define YES 1
#define NO 0
#define nil nullptr
