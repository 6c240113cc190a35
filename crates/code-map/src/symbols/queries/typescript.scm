; TypeScript alone

(function_signature name: (identifier) @name) @definition.function

(class_declaration name: (type_identifier) @name) @definition.class
(abstract_class_declaration name: (type_identifier) @name) @definition.class

(interface_declaration name: (type_identifier) @name) @definition.interface
(type_alias_declaration name: (type_identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.enum

(internal_module name: [(identifier) (nested_identifier)] @name) @definition.module
(module name: [(identifier) (nested_identifier)] @name) @definition.module

(class_body
  (method_signature
    name: [(property_identifier) (private_property_identifier)] @name) @definition.method)
(class_body (abstract_method_signature name: (property_identifier) @name) @definition.method)
(interface_body (method_signature name: (property_identifier) @name) @definition.method)

(class_body
  (public_field_definition
    name: [(property_identifier) (private_property_identifier)] @name
    value: [(arrow_function) (function_expression) (generator_function)]) @definition.method)

(class_body
  (public_field_definition "static" name: (property_identifier) @name) @definition.constant)

(ambient_declaration
  (_ (variable_declarator name: (identifier) @name) @definition.constant))

(ambient_declaration (_) @declared) @declaration

(required_parameter pattern: (identifier) @local.definition)
(optional_parameter pattern: (identifier) @local.definition)
(type_parameter name: (type_identifier) @local.definition)
(infer_type (type_identifier) @local.definition)
(mapped_type_clause name: (type_identifier) @local.definition)

; References

(extends_clause value: (identifier) @name) @reference.class
(extends_clause value: (member_expression property: (property_identifier) @name)) @reference.member
(type_identifier) @name @reference.type
(type_query (identifier) @name) @reference.type
(type_query (member_expression property: (property_identifier) @name)) @reference.member
