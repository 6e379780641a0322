#include "greet.h"
#include "names.h"

#include <stdio.h>

void greet(void)
{
    for (int i = 0; names[i]; i++)
        printf("hello %s\n", names[i]);
}
