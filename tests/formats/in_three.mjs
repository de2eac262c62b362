// Joint positions as three.js plays them: node in_three.mjs NODE_MODULES FILE ANIMATION TIMES
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, file, animation, times] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(modules, 'three', path)).href);
globalThis.self ??= globalThis;
const THREE = await load('build/three.module.js');
const bones = [];
const bytes = readFileSync(file);
let scene, animations;
if (file.endsWith('.bvh')) {
  const { BVHLoader } = await load('examples/jsm/loaders/BVHLoader.js');
  const { skeleton, clip } = new BVHLoader().parse(bytes.toString());
  [scene] = skeleton.bones;
  bones.push(...skeleton.bones.filter((bone) => bone.name !== 'ENDSITE'));
  animations = [clip];
} else {
  const { GLTFLoader } = await load('examples/jsm/loaders/GLTFLoader.js');
  const content = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  ({ scene, animations } = await new GLTFLoader().parseAsync(content, ''));
  scene.traverse((object) => object.isSkinnedMesh && bones.push(...object.skeleton.bones));
}
const mixer = new THREE.AnimationMixer(scene);
const clip = animations[Number(animation)];
mixer.clipAction(clip).setLoop(THREE.LoopOnce).play();
mixer.clipAction(clip).clampWhenFinished = true;
const positions = JSON.parse(times).map((time) => {
  mixer.setTime(time);
  scene.updateMatrixWorld(true);
  return bones.map((bone) => bone.getWorldPosition(new THREE.Vector3()).toArray());
});
console.log(JSON.stringify({
  positions,
  bones: bones.map((bone) => bone.name),
  duration: clip.duration,
  names: animations.map((each) => each.name),
  extras: clip.userData.deepphase ?? null,
}));
