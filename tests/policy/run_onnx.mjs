// Runs models in onnxruntime: node run_onnx.mjs NODE_MODULES [MODEL INPUT OUTPUT]...
// INPUT and OUTPUT are files of 32-bit floats, observations and actions one after another. All observations are given at
// once, then the first one alone, because the batch has no fixed size.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [modules, ...files] = process.argv.slice(2);
const ort = await import(pathToFileURL(`${modules}/onnxruntime-web/dist/ort.node.min.mjs`));
ort.env.wasm.numThreads = 1;
ort.env.logLevel = "warning";

while (files.length > 0) {
  const [model, input, output] = files.splice(0, 3);
  const session = await ort.InferenceSession.create(readFileSync(model));
  const bytes = readFileSync(input);
  const observations = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const size = session.inputMetadata[0].shape[1];
  const act = async (values) => {
    const observation = new ort.Tensor("float32", values, [values.length / size, size]);
    return (await session.run({ observation })).action;
  };

  const all = await act(observations);
  const one = await act(observations.slice(0, size));
  if (all.dims[0] * size !== observations.length || one.dims[0] !== 1) throw new Error(`dims ${all.dims}, ${one.dims}`);
  for (let d = 0; d < all.dims[1]; ++d) {
    if (Math.abs(one.data[d] - all.data[d]) > 1e-6) throw new Error("one observation is acted on differently");
  }
  writeFileSync(output, Buffer.from(all.data.buffer, all.data.byteOffset, 4 * all.data.length));
}
