/** How frames of the program are unwound for recorded stacks (csrc/unwind): tables that the host has compiled, and where they are. */

import { mapAnonymous, unmap } from "./libc.js";

interface Mapped {
    start: NativePointer;
    bytes: number;
}

export class Unwinding {
    private readonly setUnwinding: (directory: NativePointer) => number;
    private readonly tables: Mapped[] = [];
    private readonly directories: Mapped[] = [];

    constructor(form: Record<string, NativePointer>) {
        this.setUnwinding = new NativeFunction(form.strobe_agent_set_unwinding, "int", ["pointer"]);
    }

    /** `content`: tables of so many bytes, one behind the other. Gives their addresses; they stay until `end`, as a thread may read one whose library has gone. */
    add(sizes: number[], content: ArrayBuffer): string[] {
        let place = 0;
        return sizes.map(bytes => {
            const start = mapped(content.slice(place, place + bytes));
            place += bytes;
            this.tables.push({ start, bytes });
            return start.toString();
        });
    }

    /** `directory`: struct strobe_unwind_directory. The one before stays for as long as a thread may still read it. */
    set(directory: ArrayBuffer): void {
        const start = mapped(directory);
        this.replace(start);
        this.directories.push({ start, bytes: directory.byteLength });
    }

    /** No stacks are recorded any more. What a thread may still read stays mapped. */
    end(): void {
        if (this.replace(NULL))
            for (const table of this.tables.splice(0)) unmap(table.start, table.bytes);
    }

    private replace(start: NativePointer): boolean {
        const isUnread = this.setUnwinding(start) !== 0;
        if (isUnread)
            for (const before of this.directories.splice(0)) unmap(before.start, before.bytes);
        return isUnread;
    }
}

function mapped(content: ArrayBuffer): NativePointer {
    const start = mapAnonymous(content.byteLength);
    start.writeByteArray(content);
    return start;
}
