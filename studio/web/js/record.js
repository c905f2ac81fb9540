// The record of a sample as JSON, without its tokens.
import { h, put } from "./dom.js";
import { address } from "./api.js";
import { visible } from "./text.js";

export function show({ run, sample, root }) {
  const { tokens, ...rest } = sample;
  put(root, h("p.row", null, h("a", { href: address(["runs", run.id, "samples", sample.id]) }, "As JSON, with tokens"), h("span.muted", null, `${tokens?.length ?? 0} tokens are left out below`)),
    h("pre.message", null, visible(JSON.stringify(rest, null, 2))));
}
